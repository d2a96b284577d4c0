// SPDX-License-Identifier: GPL-2.0-only
/* Making faults through the model's window, and what the driver tells of them */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/netlink.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kselftest.h"
#include "trainium_fault_util.h"

/* Raw numbers of Documentation/model/faults.rst */
#define BAR2_SIZE	0x20000
#define FEATURES	0x0008
#define FEATURE_FAULT	0x8
#define TEXT		0xe000
#define TEXT_SIZE	0x100
#define GO		0xe100
#define STATUS		0xe104

static __u32 *map_window(const char *bdf)
{
	char path[PATH_MAX];
	void *map;
	int fd;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/resource2", bdf);
	fd = open(path, O_RDWR | O_SYNC | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	map = mmap(NULL, BAR2_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return map == MAP_FAILED ? NULL : map;
}

static __u32 window_read(__u32 *window, unsigned int offset)
{
	return __atomic_load_n(window + offset / 4, __ATOMIC_SEQ_CST);
}

static void window_write(__u32 *window, unsigned int offset, __u32 value)
{
	__atomic_store_n(window + offset / 4, value, __ATOMIC_SEQ_CST);
}

bool trn_can_fault(const char *bdf)
{
	__u32 *window = map_window(bdf);
	bool can;

	if (!window)
		return false;
	can = window_read(window, FEATURES) & FEATURE_FAULT;
	munmap(window, BAR2_SIZE);
	return can;
}

int trn_fault(const char *bdf, const char *text)
{
	__u32 *window = map_window(bdf);
	size_t len = strlen(text), i;
	__u32 status;

	if (!window)
		return -ENODEV;
	for (i = 0; i < len && i < TEXT_SIZE; i += 4) {
		__u32 word = 0;

		memcpy(&word, text + i, len - i < 4 ? len - i : 4);
		window_write(window, TEXT + i, word);
	}
	window_write(window, GO, len);
	status = window_read(window, STATUS);
	munmap(window, BAR2_SIZE);
	/* Something else than 1: the fault has taken the window along. */
	return status == 2 ? -EINVAL : 0;
}

int trn_faultf(const char *bdf, const char *format, ...)
{
	char text[TEXT_SIZE];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return trn_fault(bdf, text);
}

void trn_no_faults(const char *bdf)
{
	static const char * const off[] = {
		"dma-abort=", "dma-corrupt=", "dma-lost=", "dma-early=", "engine-stuck=",
		"ecc-correctable=", "ecc-uncorrectable=", "regs-deadbeef=", "regs-ones=",
		"irq-lose=0", "irq-storm=0", "fw-dead=off", "fw-not-ready=off",
		"fw-ignore-reset=off", "fw-override=", "fw-boot-ms=20", "fw-reset-ms=30",
		"fw-core-reset-ms=5", "hostile=",
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(off); i++)
		trn_fault(bdf, off[i]);
}

unsigned int trn_rings(const char *bdf, struct trn_place *places, unsigned int max)
{
	static char text[262144];
	char path[PATH_MAX], *line;
	unsigned int n = 0;

	snprintf(path, sizeof(path), "/sys/kernel/debug/accel/%s/rings", bdf);
	if (trn_read_file(path, text, sizeof(text)) <= 0)
		return 0;
	for (line = strchr(text, '\n'); line && n < max; line = strchr(line + 1, '\n'))
		if (sscanf(line, "%u %u", &places[n].engine, &places[n].pair) == 2)
			n++;
	return n;
}

int trn_new_ring(const char *bdf, const struct trn_place *before, unsigned int num,
		 struct trn_place *place)
{
	static struct trn_place now[4096];
	unsigned int n = trn_rings(bdf, now, ARRAY_SIZE(now)), i, j;

	for (i = 0; i < n; i++) {
		for (j = 0; j < num; j++)
			if (!memcmp(&now[i], &before[j], sizeof(now[i])))
				break;
		if (j == num) {
			*place = now[i];
			return 0;
		}
	}
	return -ENOENT;
}

int trn_events_open(int fd, __u64 types)
{
	struct drm_trainium_events args = {
		.types = types,
		.flags = TRAINIUM_EVENTS_NONBLOCK,
		.record_size = sizeof(struct drm_trainium_event),
	};
	int ret = trn_ioctl(fd, DRM_IOCTL_TRAINIUM_EVENTS, &args);

	return ret ?: args.fd;
}

int trn_event_next(int events, struct drm_trainium_event *event, __s64 ns)
{
	__s64 end = trn_now() + ns;

	for (;;) {
		struct pollfd p = { .fd = events, .events = POLLIN };
		ssize_t len = read(events, event, sizeof(*event));

		if (len == sizeof(*event))
			return 0;
		if (len >= 0)
			return -EIO;
		if (errno != EAGAIN)
			return -errno;
		if (trn_now() >= end)
			return -ETIME;
		poll(&p, 1, 10);
	}
}

int trn_uevent_open(void)
{
	struct sockaddr_nl addr = { .nl_family = AF_NETLINK, .nl_groups = 1 };
	int s = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
		       NETLINK_KOBJECT_UEVENT);

	if (s >= 0 && bind(s, (struct sockaddr *)&addr, sizeof(addr))) {
		close(s);
		return -errno;
	}
	return s < 0 ? -errno : s;
}

static bool uevent_has(const char *msg, ssize_t len, const char *what)
{
	const char *p;

	for (p = msg; p < msg + len; p += strlen(p) + 1)
		if (!strcmp(p, what))
			return true;
	return false;
}

bool trn_uevent_find(int s, const char *first, const char *second, __s64 ns)
{
	__s64 end = trn_now() + ns;
	char msg[4096];

	do {
		ssize_t len = recv(s, msg, sizeof(msg) - 1, 0);

		if (len <= 0) {
			trn_sleep(5 * TRN_MSEC);
			continue;
		}
		msg[len] = '\0';
		if (uevent_has(msg, len, first) && (!second || uevent_has(msg, len, second)))
			return true;
	} while (trn_now() < end);
	return false;
}

#define COREDUMPS "/sys/class/devcoredump"

static bool next_dump(char *path, size_t size)
{
	struct dirent *entry;
	DIR *dir = opendir(COREDUMPS);
	bool found = false;

	while (dir && !found && (entry = readdir(dir))) {
		found = !strncmp(entry->d_name, "devcd", 5);
		if (found)
			snprintf(path, size, COREDUMPS "/%s/data", entry->d_name);
	}
	if (dir)
		closedir(dir);
	return found;
}

/*
 * The name in the device that failed goes last, which can take seconds on a kernel
 * that looks for early ends of objects, and the next dump needs it.
 */
static void drop_dump(const char *data)
{
	__s64 end = trn_now() + TRN_PATIENCE;
	char device[PATH_MAX], name[PATH_MAX + 16];
	int len = strlen(data) - strlen("data");
	struct stat st;

	snprintf(name, sizeof(name), "%.*sfailing_device", len, data);
	if (!realpath(name, device))
		device[0] = '\0';
	snprintf(name, sizeof(name), "%s/devcoredump", device);
	trn_write_file(data, "1");
	/* What it points to has gone before. */
	while (!lstat(name, &st) && trn_now() < end)
		trn_sleep(TRN_MSEC);
}

void trn_coredump_drop(void)
{
	char path[PATH_MAX];
	unsigned int i;

	for (i = 0; i < 100 && next_dump(path, sizeof(path)); i++)
		drop_dump(path);
}

int trn_coredump(char *text, size_t size, __s64 ns)
{
	__s64 end = trn_now() + ns;
	char path[PATH_MAX];
	size_t done = 0;
	ssize_t len;
	int fd;

	while (!next_dump(path, sizeof(path))) {
		if (trn_now() > end)
			return -ETIME;
		trn_sleep(5 * TRN_MSEC);
	}
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	while (done < size - 1 && (len = read(fd, text + done, size - 1 - done)) > 0)
		done += len;
	close(fd);
	text[done] = '\0';
	drop_dump(path);
	return done;
}
