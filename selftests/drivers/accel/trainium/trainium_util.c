// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "trainium_util.h"

#define MAX_DEVICES 256
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

struct found {
	int minor;
	char bdf[32];
};

static int by_minor(const void *a, const void *b)
{
	return ((const struct found *)a)->minor - ((const struct found *)b)->minor;
}

static unsigned int find_devices(struct found *found)
{
	struct dirent *entry;
	unsigned int n = 0;
	DIR *dir;

	dir = opendir("/sys/class/accel");
	if (!dir)
		return 0;

	while ((entry = readdir(dir)) && n < MAX_DEVICES) {
		char path[PATH_MAX], target[PATH_MAX];
		int minor;

		if (sscanf(entry->d_name, "accel%d", &minor) != 1)
			continue;
		snprintf(path, sizeof(path), "/sys/class/accel/%s/device/driver",
			 entry->d_name);
		if (!realpath(path, target) || strcmp(basename(target), "trainium"))
			continue;
		snprintf(path, sizeof(path), "/sys/class/accel/%s/device", entry->d_name);
		if (!realpath(path, target))
			continue;
		found[n].minor = minor;
		snprintf(found[n].bdf, sizeof(found[n].bdf), "%.31s", basename(target));
		n++;
	}
	closedir(dir);
	qsort(found, n, sizeof(*found), by_minor);
	return n;
}

unsigned int trn_num_devices(void)
{
	struct found found[MAX_DEVICES];

	return find_devices(found);
}

static int open_minor(int minor)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/dev/accel/accel%d", minor);
	fd = open(path, O_RDWR | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int trn_open(unsigned int n)
{
	struct found found[MAX_DEVICES];

	if (n >= find_devices(found))
		return -ENODEV;
	return open_minor(found[n].minor);
}

const char *trn_bdf(unsigned int n)
{
	static char bdf[8][32];
	struct found found[MAX_DEVICES];

	if (n >= 8 || n >= find_devices(found))
		return NULL;
	memcpy(bdf[n], found[n].bdf, sizeof(bdf[n]));
	return bdf[n];
}

int trn_minor_of(const char *bdf)
{
	struct found found[MAX_DEVICES];
	unsigned int i, n = find_devices(found);

	for (i = 0; i < n; i++)
		if (!strcmp(found[i].bdf, bdf))
			return found[i].minor;
	return -1;
}

int trn_open_bdf(const char *bdf)
{
	int minor = trn_minor_of(bdf);

	return minor < 0 ? -ENODEV : open_minor(minor);
}

int trn_open_again(const char *bdf)
{
	__s64 end = trn_now() + 10 * TRN_SEC;
	int fd = trn_open_bdf(bdf);

	if (fd < 0)
		trn_write_file("/sys/bus/pci/drivers/trainium/bind", bdf);
	while (fd < 0 && trn_now() < end) {
		trn_sleep(5 * TRN_MSEC);
		fd = trn_open_bdf(bdf);
	}
	return fd;
}

int trn_user_node(unsigned int n, char *path, size_t size)
{
	int fd = trn_open(n);
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st))
		return -errno;
	close(fd);
	snprintf(path, size, "/dev/trainium-selftest%u", n);
	unlink(path);
	if (mknod(path, S_IFCHR | 0660, st.st_rdev) ||
	    chown(path, 0, TRN_TEST_GID) || chmod(path, 0660))
		return -errno;
	return 0;
}

int trn_become_user(void)
{
	if (setgroups(0, NULL) || setgid(TRN_TEST_GID) || setuid(TRN_TEST_UID))
		return -errno;
	/* Of the new user, so that /proc/self stays readable */
	prctl(PR_SET_DUMPABLE, 1);
	return 0;
}

int trn_query(int fd, __u32 type, __u32 index, void *data, __u32 size)
{
	struct drm_trainium_query query = {
		.type = type,
		.index = index,
		.size = size,
		.data = trn_ptr(data),
	};

	return trn_ioctl(fd, DRM_IOCTL_TRAINIUM_QUERY, &query);
}

int trn_device(int fd, struct drm_trainium_query_device *device)
{
	return trn_query(fd, TRAINIUM_QUERY_DEVICE, 0, device, sizeof(*device));
}

int trn_memory(int fd, unsigned int stack, struct drm_trainium_query_memory *memory)
{
	return trn_query(fd, TRAINIUM_QUERY_MEMORY, stack, memory, sizeof(*memory));
}

int trn_engine(int fd, unsigned int engine, struct drm_trainium_query_engine *info)
{
	return trn_query(fd, TRAINIUM_QUERY_ENGINE, engine, info, sizeof(*info));
}

int trn_limits(int fd, struct drm_trainium_query_limits *limits)
{
	return trn_query(fd, TRAINIUM_QUERY_LIMITS, 0, limits, sizeof(*limits));
}

int trn_queue(int fd, __u32 queue, struct drm_trainium_query_queue *info)
{
	return trn_query(fd, TRAINIUM_QUERY_QUEUE, queue, info, sizeof(*info));
}

bool trn_has(int fd, __u64 feature)
{
	struct drm_trainium_query_device device;

	return !trn_device(fd, &device) && (device.features & feature);
}

int trn_bo_create(int fd, __u32 placement, __u32 stack, __u64 size, __u32 *handle)
{
	struct drm_trainium_bo_create create = {
		.size = size,
		.placement = placement,
		.stack = stack,
	};
	int ret = trn_ioctl(fd, DRM_IOCTL_TRAINIUM_BO_CREATE, &create);

	*handle = create.handle;
	return ret;
}

int trn_bo_userptr(int fd, const void *ptr, __u64 size, __u32 flags, __u32 *handle)
{
	struct drm_trainium_bo_create create = {
		.size = size,
		.placement = TRAINIUM_BO_USERPTR,
		.flags = flags,
		.userptr = trn_ptr(ptr),
	};
	int ret = trn_ioctl(fd, DRM_IOCTL_TRAINIUM_BO_CREATE, &create);

	*handle = create.handle;
	return ret;
}

int trn_bo_info(int fd, __u32 handle, struct drm_trainium_bo_info *info)
{
	memset(info, 0, sizeof(*info));
	info->handle = handle;
	return trn_ioctl(fd, DRM_IOCTL_TRAINIUM_BO_INFO, info);
}

void *trn_map(int fd, __u32 handle, __u64 size)
{
	struct drm_trainium_bo_info info;

	if (trn_bo_info(fd, handle, &info) || !info.mmap_offset)
		return MAP_FAILED;
	return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, info.mmap_offset);
}

int trn_close_handle(int fd, __u32 handle)
{
	struct drm_gem_close arg = { .handle = handle };

	return trn_ioctl(fd, DRM_IOCTL_GEM_CLOSE, &arg);
}

int trn_bo_new(int fd, __u32 placement, __u32 stack, __u64 size, struct trn_bo *bo)
{
	int ret;

	bo->size = size;
	bo->map = NULL;
	ret = trn_bo_create(fd, placement, stack, size, &bo->handle);
	if (ret)
		return ret;
	bo->map = trn_map(fd, bo->handle, size);
	if (bo->map == MAP_FAILED)
		bo->map = NULL;
	return 0;
}

void trn_bo_put(int fd, struct trn_bo *bo)
{
	if (bo->map)
		munmap(bo->map, bo->size);
	if (bo->handle)
		trn_close_handle(fd, bo->handle);
	memset(bo, 0, sizeof(*bo));
}

int trn_queue_create(int fd, __u32 stack, __u32 engines, __u32 *queue)
{
	struct drm_trainium_queue_create create = {
		.queue_class = TRAINIUM_QUEUE_FENCED,
		.num_engines = engines,
		.stack = stack,
	};
	int ret = trn_ioctl(fd, DRM_IOCTL_TRAINIUM_QUEUE_CREATE, &create);

	*queue = create.queue;
	return ret;
}

int trn_queue_destroy(int fd, __u32 queue)
{
	struct drm_trainium_queue_destroy arg = { .queue = queue };

	return trn_ioctl(fd, DRM_IOCTL_TRAINIUM_QUEUE_DESTROY, &arg);
}

struct drm_trainium_op trn_op_copy(__u32 dst, __u64 dst_offset, __u32 src,
				   __u64 src_offset, __u64 size)
{
	return (struct drm_trainium_op){
		.type = TRAINIUM_OP_COPY,
		.dst = dst,
		.src = src,
		.dst_offset = dst_offset,
		.src_offset = src_offset,
		.size = size,
	};
}

struct drm_trainium_op trn_op_fill(__u32 dst, __u64 offset, __u64 size,
				   __u64 pattern, __u32 pattern_size)
{
	return (struct drm_trainium_op){
		.type = TRAINIUM_OP_FILL,
		.dst = dst,
		.pattern_size = pattern_size,
		.dst_offset = offset,
		.pattern = pattern,
		.size = size,
	};
}

struct drm_trainium_submit trn_job(__u32 queue, const struct drm_trainium_op *ops,
				   __u32 count)
{
	return (struct drm_trainium_submit){
		.queue = queue,
		.ops = trn_ptr(ops),
		.op_count = count,
		.op_stride = sizeof(*ops),
	};
}

int trn_submit(int fd, struct drm_trainium_submit *submit)
{
	return trn_ioctl(fd, DRM_IOCTL_TRAINIUM_SUBMIT, submit);
}

int trn_run_for(int fd, __u32 queue, const struct drm_trainium_op *ops, __u32 count,
		__s64 ns)
{
	struct drm_trainium_submit submit = trn_job(queue, ops, count);
	int ret;

	submit.flags = TRAINIUM_SUBMIT_WAIT;
	submit.deadline_ns = trn_now() + ns;
	ret = trn_submit(fd, &submit);
	if (ret)
		return ret;
	return submit.status == TRAINIUM_STATUS_DONE ? 0 : -EINPROGRESS;
}

int trn_run(int fd, __u32 queue, const struct drm_trainium_op *ops, __u32 count)
{
	return trn_run_for(fd, queue, ops, count, TRN_PATIENCE);
}

int trn_copy(int fd, __u32 queue, __u32 dst, __u64 dst_offset, __u32 src,
	     __u64 src_offset, __u64 size)
{
	struct drm_trainium_op op = trn_op_copy(dst, dst_offset, src, src_offset, size);

	return trn_run(fd, queue, &op, 1);
}

int trn_fill(int fd, __u32 queue, __u32 dst, __u64 offset, __u64 size, __u64 pattern,
	     __u32 pattern_size)
{
	struct drm_trainium_op op = trn_op_fill(dst, offset, size, pattern, pattern_size);

	return trn_run(fd, queue, &op, 1);
}

int trn_drain(int fd, __u32 queue)
{
	return trn_run(fd, queue, NULL, 0);
}

__s64 trn_limit(__s64 ns)
{
	const char *slow = getenv("TRAINIUM_TEST_SLOW");

	return slow && atoi(slow) > 1 ? ns * atoi(slow) : ns;
}

__s64 trn_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * TRN_SEC + ts.tv_nsec;
}

void trn_sleep(__s64 ns)
{
	struct timespec ts = { .tv_sec = ns / TRN_SEC, .tv_nsec = ns % TRN_SEC };

	while (nanosleep(&ts, &ts) && errno == EINTR)
		;
}

__u64 trn_rand(__u64 *state)
{
	__u64 x = (*state += 0x9e3779b97f4a7c15ull);

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

__u64 trn_rand_below(__u64 *state, __u64 limit)
{
	return trn_rand(state) % limit;
}

static inline __u64 pattern_word(__u64 seed, __u64 index)
{
	__u64 x = (seed + 1) * 0xd1342543de82ef95ull ^ index * 0x9e3779b97f4a7c15ull;

	return x ^ (x >> 29);
}

static inline __u8 pattern_byte(__u64 seed, __u64 offset)
{
	return pattern_word(seed, offset / 8) >> (offset % 8 * 8);
}

void trn_pattern(void *p, __u64 first, __u64 len, __u64 seed)
{
	__u8 *b = p;

	for (; len && first % 8; len--)
		*b++ = pattern_byte(seed, first++);
	for (; len >= 8; len -= 8, b += 8, first += 8) {
		__u64 word = pattern_word(seed, first / 8);

		memcpy(b, &word, 8);
	}
	for (; len; len--)
		*b++ = pattern_byte(seed, first++);
}

__s64 trn_check(const void *p, __u64 first, __u64 len, __u64 seed)
{
	const __u8 *b = p;
	__u64 i = 0;

	while (i < len) {
		__u64 word = pattern_word(seed, (first + i) / 8);

		if ((first + i) % 8 == 0 && len - i >= 8 && !memcmp(b + i, &word, 8)) {
			i += 8;
			continue;
		}
		if (b[i] != pattern_byte(seed, first + i))
			return i;
		i++;
	}
	return -1;
}

__s64 trn_check_byte(const void *p, __u64 len, __u8 byte)
{
	const __u8 *b = p;
	__u64 i;

	if (!len || (b[0] == byte && !memcmp(b, b + 1, len - 1)))
		return -1;
	for (i = 0; i < len; i++)
		if (b[i] != byte)
			return i;
	return -1;
}

int trn_read_file(const char *path, char *buf, size_t size)
{
	size_t len = 0;
	ssize_t ret;
	int fd;

	buf[0] = '\0';
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	while (len < size - 1) {
		ret = read(fd, buf + len, size - 1 - len);
		if (ret < 0) {
			ret = -errno;
			close(fd);
			return ret;
		}
		if (!ret)
			break;
		len += ret;
	}
	buf[len] = '\0';
	close(fd);
	return len;
}

int trn_write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int ret = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		ret = -errno;
	close(fd);
	return ret;
}

int trn_read_sysfs(const char *bdf, const char *name, char *buf, size_t size)
{
	char path[PATH_MAX];
	int ret;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/%s", bdf, name);
	ret = trn_read_file(path, buf, size);
	if (ret > 0 && buf[ret - 1] == '\n')
		buf[--ret] = '\0';
	return ret;
}

int trn_write_sysfs(const char *bdf, const char *name, const char *text)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/%s", bdf, name);
	return trn_write_file(path, text);
}

__u64 trn_number_in(const char *path, const char *key)
{
	static __thread char buf[65536];
	char *at;

	if (trn_read_file(path, buf, sizeof(buf)) < 0)
		return ~0ull;
	at = strstr(buf, key);
	return at ? strtoull(at + strlen(key), NULL, 0) : ~0ull;
}

#define TRACING "/sys/kernel/tracing/"

int trn_trace(const char *event, bool on)
{
	char path[128];

	mount("tracefs", TRACING, "tracefs", 0, NULL);
	snprintf(path, sizeof(path), TRACING "events/trainium/%s/enable", event);
	return trn_write_file(path, on ? "1" : "0");
}

void trn_trace_clear(void)
{
	close(open(TRACING "trace", O_WRONLY | O_TRUNC));
}

void trn_trace_each(void (*fn)(const char *line, void *arg), void *arg)
{
	FILE *f = fopen(TRACING "trace", "r");
	char line[512];

	while (f && fgets(line, sizeof(line), f))
		fn(line, arg);
	if (f)
		fclose(f);
}

struct traced {
	const char *text, *with;
	unsigned int count;
};

static void traced_line(const char *line, void *arg)
{
	struct traced *t = arg;

	t->count += strstr(line, t->text) && strstr(line, t->with);
}

unsigned int trn_traced(const char *text, const char *with)
{
	struct traced t = { text, with, 0 };

	trn_trace_each(traced_line, &t);
	return t.count;
}

#define PARAMETERS "/sys/module/trainium/parameters/"

int trn_set_param(const char *name, __u64 value)
{
	char path[PATH_MAX], text[32];

	snprintf(path, sizeof(path), PARAMETERS "%s", name);
	snprintf(text, sizeof(text), "%llu", value);
	return trn_write_file(path, text);
}

__u64 trn_get_param(const char *name)
{
	char path[PATH_MAX], text[32];

	snprintf(path, sizeof(path), PARAMETERS "%s", name);
	return trn_read_file(path, text, sizeof(text)) > 0 ? strtoull(text, NULL, 10) : ~0ull;
}

__u64 trn_interrupts(const char *bdf)
{
	static char buf[262144];
	char path[PATH_MAX], *line, *save;
	struct dirent *entry;
	bool ours[4096] = {};
	__u64 sum = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/msi_irqs", bdf);
	dir = opendir(path);
	if (!dir)
		return 0;
	while ((entry = readdir(dir))) {
		unsigned long irq = strtoul(entry->d_name, NULL, 10);

		if (irq && irq < 4096)
			ours[irq] = true;
	}
	closedir(dir);

	trn_read_file("/proc/interrupts", buf, sizeof(buf));
	for (line = strtok_r(buf, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *at;
		unsigned long irq = strtoul(line, &at, 10);

		if (at == line || *at != ':' || irq >= 4096 || !ours[irq])
			continue;
		at++;
		for (;;) {
			char *end;
			unsigned long long count = strtoull(at, &end, 10);

			if (end == at || (*end != ' ' && *end != '\t' && *end))
				break;
			sum += count;
			at = end;
		}
	}
	return sum;
}

pid_t trn_fork(void)
{
	pid_t parent = getpid();
	pid_t pid;

	fflush(stdout);
	fflush(stderr);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(127);
	}
	return pid;
}

int trn_reap(pid_t pid, __s64 ns)
{
	__s64 end = trn_now() + ns;
	int status;

	for (;;) {
		pid_t ret = waitpid(pid, &status, WNOHANG);

		if (ret < 0)
			return -errno;
		if (ret == pid)
			break;
		if (trn_now() > end)
			return -ETIME;
		trn_sleep(200000);
	}
	if (WIFSIGNALED(status))
		return 128 + WTERMSIG(status);
	return WEXITSTATUS(status);
}

int trn_in_child(int (*fn)(void *arg), void *arg)
{
	pid_t pid = trn_fork();

	if (pid < 0)
		return -errno;
	if (!pid)
		_exit(fn(arg));
	return trn_reap(pid, TRN_PATIENCE);
}

int trn_log_open(void)
{
	int log = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (log < 0)
		return -errno;
	lseek(log, 0, SEEK_END);
	return log;
}

static bool log_next(int log, char *line, size_t size)
{
	ssize_t len;

	do {
		len = read(log, line, size - 1);
	} while (len < 0 && errno == EPIPE);
	if (len <= 0)
		return false;
	line[len] = '\0';
	return true;
}

bool trn_log_fault(int log, char *line, size_t size)
{
	static const char * const bad[] = {
		"WARNING:", "BUG:", "Oops", "Call Trace", "general protection fault",
		"unable to handle", "KASAN", "UBSAN", "kernel BUG", "refcount_t",
		"possible circular locking", "possible recursive locking",
		"INFO: task", "soft lockup", "rcu_sched", "rcu_preempt detected",
		"list_add corruption", "list_del corruption", "DMA-API",
		"kmemleak:", "page allocation failure", "trying to free",
		"Out of memory: Killed", "unexpected IRQ", "nobody cared",
		"DMAR: [DMA",
	};
	unsigned int i;

	while (log_next(log, line, size))
		for (i = 0; i < ARRAY_SIZE(bad); i++)
			if (strstr(line, bad[i]))
				return true;
	return false;
}

bool trn_dma_debug(void)
{
	return !access("/sys/kernel/debug/dma-api", F_OK);
}

bool trn_log_find(int log, const char *text)
{
	char line[8192];

	while (log_next(log, line, sizeof(line)))
		if (strstr(line, text))
			return true;
	return false;
}

const struct trn_generation *trn_generation(unsigned int number)
{
	static const struct trn_generation generations[] = {
		{ "trainium1", 2, 2, 1, 34 },
		{ "trainium2", 8, 4, 2, 132 },
		{ "trainium3", 8, 4, 2, 132 },
		{ "trainium4", 8, 8, 4, 136 },
	};

	return number - 1 < 4 ? &generations[number - 1] : NULL;
}

int trn_snapshot(int fd, struct trn_snapshot *snapshot)
{
	struct drm_trainium_query_device device;
	unsigned int i;
	int ret;

	memset(snapshot, 0, sizeof(*snapshot));
	ret = trn_device(fd, &device);
	if (ret)
		return ret;
	snapshot->stacks = device.num_stacks;
	snapshot->engines = device.num_engines;
	for (i = 0; i < device.num_stacks; i++) {
		struct drm_trainium_query_memory memory;

		ret = trn_memory(fd, i, &memory);
		if (ret)
			return ret;
		snapshot->free[i] = memory.free;
		snapshot->largest[i] = memory.largest_free;
		snapshot->bo_count[i] = memory.bo_count;
	}
	for (i = 0; i < device.num_engines; i++) {
		struct drm_trainium_query_engine engine;

		ret = trn_engine(fd, i, &engine);
		if (ret)
			return ret;
		snapshot->rings_free[i] = engine.rings_free;
	}
	return 0;
}

const char *trn_snapshot_diff(const struct trn_snapshot *a, const struct trn_snapshot *b)
{
	static char text[256];
	unsigned int i;

	for (i = 0; i < a->stacks; i++) {
		if (a->free[i] != b->free[i] || a->largest[i] != b->largest[i] ||
		    a->bo_count[i] != b->bo_count[i]) {
			snprintf(text, sizeof(text),
				 "stack %u: free %llu -> %llu, largest %llu -> %llu, buffers %u -> %u",
				 i, a->free[i], b->free[i], a->largest[i], b->largest[i],
				 a->bo_count[i], b->bo_count[i]);
			return text;
		}
	}
	for (i = 0; i < a->engines; i++) {
		/* One more is of a test before, whose rings took their time to stop. */
		if (a->rings_free[i] > b->rings_free[i]) {
			snprintf(text, sizeof(text), "engine %u: free rings %u -> %u", i,
				 a->rings_free[i], b->rings_free[i]);
			return text;
		}
	}
	return NULL;
}

const char *trn_settle(int fd, const struct trn_snapshot *base, __s64 ns)
{
	static struct trn_snapshot now;
	__s64 end = trn_now() + trn_limit(ns);
	const char *diff;

	for (;;) {
		if (trn_snapshot(fd, &now))
			return "the device does not answer queries";
		diff = trn_snapshot_diff(base, &now);
		if (!diff || trn_now() > end)
			return diff;
		trn_sleep(5 * TRN_MSEC);
	}
}
