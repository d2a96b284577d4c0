// SPDX-License-Identifier: GPL-2.0-only
/* What the kernel tells about the device: fdinfo, sysfs, debugfs, log */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

#include "kselftest_harness.h"
#include "trainium_util.h"

FIXTURE(info) {
	int fd;
	int log;
	__u32 queue;
	const char *bdf;
	struct drm_trainium_query_device device;
};

FIXTURE_SETUP(info)
{
	self->log = trn_log_open();
	self->fd = trn_open(0);
	ASSERT_LE(0, self->fd);
	self->bdf = trn_bdf(0);
	ASSERT_EQ(0, trn_device(self->fd, &self->device));
	ASSERT_EQ(0, trn_queue_create(self->fd, TRAINIUM_STACK_ANY, 0, &self->queue));
}

FIXTURE_TEARDOWN(info)
{
	char line[1024];

	close(self->fd);
	EXPECT_FALSE(trn_log_fault(self->log, line, sizeof(line))) {
		TH_LOG("%s", line);
	}
	close(self->log);
}

static char *read_fdinfo(int fd)
{
	static char buf[16384];
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	trn_read_file(path, buf, sizeof(buf));
	return buf;
}

/* Bytes after a key such as "drm-total-hbm0:", ~0 when it is not there */
static __u64 fdinfo_bytes(int fd, const char *key)
{
	char *at = strstr(read_fdinfo(fd), key), *end;
	__u64 n;

	if (!at)
		return ~0ull;
	n = strtoull(at + strlen(key), &end, 10);
	if (!strncmp(end, " KiB", 4))
		return n << 10;
	if (!strncmp(end, " MiB", 4))
		return n << 20;
	return n;
}

TEST_F(info, fdinfo_identity)
{
	char pdev[64];

	EXPECT_NE(NULL, strstr(read_fdinfo(self->fd), "drm-driver:\ttrainium\n"));
	snprintf(pdev, sizeof(pdev), "drm-pdev:\t%s\n", self->bdf);
	EXPECT_NE(NULL, strstr(read_fdinfo(self->fd), pdev));
	EXPECT_NE(NULL, strstr(read_fdinfo(self->fd), "drm-client-id:\t"));
}

/* H7: what is held shows, and goes */
TEST_F(info, fdinfo_memory)
{
	struct trn_bo hbm, host;
	char key[32];
	unsigned int s;

	for (s = 0; s < self->device.num_stacks; s++) {
		snprintf(key, sizeof(key), "drm-total-hbm%u:\t", s);
		ASSERT_NE(~0ull, fdinfo_bytes(self->fd, key)) TH_LOG("no %s", key);
		EXPECT_EQ(0, fdinfo_bytes(self->fd, key));
		ASSERT_EQ(0, trn_hbm_new(self->fd, s, TRN_MIB(1) + TRN_PAGE, &hbm));
		EXPECT_EQ(TRN_MIB(1) + TRN_PAGE, fdinfo_bytes(self->fd, key));
		snprintf(key, sizeof(key), "drm-resident-hbm%u:\t", s);
		EXPECT_EQ(TRN_MIB(1) + TRN_PAGE, fdinfo_bytes(self->fd, key));
		trn_bo_put(self->fd, &hbm);
		EXPECT_EQ(0, fdinfo_bytes(self->fd, key));
	}
	ASSERT_EQ(0, trn_host_new(self->fd, TRN_MIB(2), &host));
	EXPECT_EQ(TRN_MIB(2), fdinfo_bytes(self->fd, "drm-total-memory:\t"));
	trn_bo_put(self->fd, &host);
	EXPECT_EQ(0, fdinfo_bytes(self->fd, "drm-total-memory:\t"));
}

TEST_F(info, fdinfo_shared)
{
	int other = trn_open(0), buf;
	struct trn_bo hbm;
	__u32 handle;

	ASSERT_EQ(0, trn_hbm_new(self->fd, 0, TRN_MIB(1), &hbm));
	EXPECT_EQ(0, fdinfo_bytes(self->fd, "drm-shared-hbm0:\t"));
	ASSERT_EQ(0, trn_export(self->fd, hbm.handle, &buf));
	ASSERT_EQ(0, trn_import(other, buf, &handle));
	EXPECT_EQ(TRN_MIB(1), fdinfo_bytes(self->fd, "drm-shared-hbm0:\t"));
	EXPECT_EQ(TRN_MIB(1), fdinfo_bytes(other, "drm-shared-hbm0:\t"));
	close(buf);
	close(other);
}

/* The standard keys of each region, and what jobs in flight use */
TEST_F(info, fdinfo_regions)
{
	static const char * const keys[] = { "memory", "total", "shared", "active", "resident" };
	struct drm_trainium_sync in = {};
	struct drm_trainium_submit s;
	struct drm_trainium_op op;
	struct trn_bo hbm, idle;
	struct trn_gate gate;
	char key[64];
	unsigned int i, r;

	ASSERT_EQ(0, trn_hbm_new(self->fd, 1, TRN_MIB(1), &hbm));
	ASSERT_EQ(0, trn_hbm_new(self->fd, 1, TRN_MIB(2), &idle));
	for (r = 0; r <= self->device.num_stacks; r++) {
		for (i = 0; i < ARRAY_SIZE(keys); i++) {
			if (r)
				snprintf(key, sizeof(key), "drm-%s-hbm%u:\t", keys[i], r - 1);
			else
				snprintf(key, sizeof(key), "drm-%s-memory:\t", keys[i]);
			EXPECT_NE(~0ull, fdinfo_bytes(self->fd, key)) TH_LOG("no %s", key);
		}
	}
	EXPECT_EQ(TRN_MIB(3), fdinfo_bytes(self->fd, "drm-memory-hbm1:\t"));
	EXPECT_EQ(TRN_MIB(3), fdinfo_bytes(self->fd, "drm-resident-hbm1:\t"));
	EXPECT_EQ(0, fdinfo_bytes(self->fd, "drm-active-hbm1:\t"));

	if (trn_gate_open(&gate))
		SKIP(return, "no vgem to make fences with");
	op = trn_op_fill(hbm.handle, 0, TRN_MIB(1), 1, 1);
	s = trn_job(self->queue, &op, 1);
	ASSERT_EQ(0, trn_gate_sync(&gate, self->fd, &in.handle));
	s.in_syncs = trn_ptr(&in);
	s.in_sync_count = 1;
	ASSERT_EQ(0, trn_submit(self->fd, &s));
	EXPECT_EQ(TRN_MIB(1), fdinfo_bytes(self->fd, "drm-active-hbm1:\t"));
	ASSERT_EQ(0, trn_gate_release(&gate));
	ASSERT_EQ(0, trn_drain(self->fd, self->queue));
	EXPECT_EQ(0, fdinfo_bytes(self->fd, "drm-active-hbm1:\t"));
	trn_gate_close(&gate);
	trn_bo_put(self->fd, &hbm);
	trn_bo_put(self->fd, &idle);
}

/* Busy time grows while there is work, by no more than the time that passed. */
TEST_F(info, fdinfo_busy)
{
	char *at = strstr(read_fdinfo(self->fd), "drm-engine-"), *end;
	int other = trn_open(0);
	__u64 before, after;
	char key[64];
	__s64 start;
	__u32 bo;
	unsigned int i;

	ASSERT_NE(NULL, at);
	end = strchr(at, ':');
	ASSERT_NE(NULL, end);
	snprintf(key, sizeof(key), "%.*s:\t", (int)(end - at), at);
	EXPECT_NE(NULL, strstr(end, " ns")) TH_LOG("%s has no unit", key);
	ASSERT_EQ(0, trn_bo_create(self->fd, TRAINIUM_BO_HBM, 0, TRN_MIB(64), &bo));
	before = fdinfo_bytes(self->fd, key);
	start = trn_now();
	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, trn_copy(self->fd, self->queue, bo, TRN_MIB(32), bo, 0, TRN_MIB(32)));
	after = fdinfo_bytes(self->fd, key);
	EXPECT_LT(before, after);
	EXPECT_GE(trn_now() - start, after - before);
	/* None of it is another client's. */
	ASSERT_LE(0, other);
	EXPECT_EQ(0, fdinfo_bytes(other, key));
	close(other);
	/* Idle: it stands still. It does not go back when the queue goes. */
	trn_sleep(50 * TRN_MSEC);
	EXPECT_EQ(after, fdinfo_bytes(self->fd, key));
	ASSERT_EQ(0, trn_queue_destroy(self->fd, self->queue));
	trn_sleep(50 * TRN_MSEC);
	EXPECT_LE(after, fdinfo_bytes(self->fd, key));
}

/* Keys of the documented form only, each once */
TEST_F(info, fdinfo_form)
{
	char *line, *save, seen[64][64];
	unsigned int n = 0, i;

	for (line = strtok_r(read_fdinfo(self->fd), "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		char *colon = strchr(line, ':');

		ASSERT_NE(NULL, colon) TH_LOG("%s", line);
		EXPECT_EQ('\t', colon[1]) TH_LOG("%s", line);
		*colon = '\0';
		if (!strncmp(line, "drm-", 4) || !strncmp(line, "trainium-", 9)) {
			for (i = 0; i < n; i++)
				EXPECT_STRNE(seen[i], line);
			if (n < ARRAY_SIZE(seen))
				snprintf(seen[n++], sizeof(seen[0]), "%.63s", line);
		}
	}
	EXPECT_LE(4, n);
}

TEST_F(info, sysfs)
{
	char text[256];
	int ret;

	ASSERT_LT(0, trn_read_sysfs(self->bdf, "class", text, sizeof(text)));
	EXPECT_STREQ("0x120000", text);
	ASSERT_LT(0, trn_read_sysfs(self->bdf, "vendor", text, sizeof(text)));
	EXPECT_STREQ("0x1d0f", text);
	ASSERT_LT(0, trn_read_sysfs(self->bdf, "device", text, sizeof(text)));
	EXPECT_STREQ("0x7364", text);

	ASSERT_LT(0, trn_read_sysfs(self->bdf, "generation", text, sizeof(text)));
	EXPECT_EQ(self->device.generation, strtoul(text, NULL, 0));
	ASSERT_LT(0, trn_read_sysfs(self->bdf, "serial", text, sizeof(text)));
	EXPECT_EQ(self->device.serial, strtoull(text, NULL, 16));
	ASSERT_LT(0, trn_read_sysfs(self->bdf, "routing_id", text, sizeof(text)));
	EXPECT_EQ(self->device.routing_id, strtoul(text, NULL, 0));
	ASSERT_LT(0, trn_read_sysfs(self->bdf, "fw_api_version", text, sizeof(text)));
	EXPECT_EQ(self->device.fw_api_version, strtoul(text, NULL, 0));
	ASSERT_LT(0, trn_read_sysfs(self->bdf, "reset_count", text, sizeof(text)));
	EXPECT_EQ(self->device.reset_count, strtoull(text, NULL, 0));
	ret = trn_read_sysfs(self->bdf, "fw_build", text, sizeof(text));
	ASSERT_LT(0, ret);
	EXPECT_EQ(self->device.fw_build, strtoul(text, NULL, 0));
}

/* H2: for everybody to read, nobody to write; one value, one line */
TEST_F(info, sysfs_modes)
{
	static const char * const names[] = {
		"generation", "serial", "routing_id", "fw_api_version", "fw_build",
		"reset_count",
	};
	char path[PATH_MAX], text[8192];
	struct stat st;
	unsigned int i;
	int len;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/%s", self->bdf, names[i]);
		ASSERT_EQ(0, stat(path, &st));
		EXPECT_EQ(0444, st.st_mode & 0777) TH_LOG("%s", names[i]);
		len = trn_read_file(path, text, sizeof(text));
		ASSERT_LT(1, len);
		EXPECT_EQ('\n', text[len - 1]) TH_LOG("%s", names[i]);
		EXPECT_EQ(len - 1, strcspn(text, "\n ")) TH_LOG("%s", names[i]);
	}
}

static int read_sysfs_as_user(void *arg)
{
	char text[64];

	if (trn_become_user())
		return 1;
	return trn_read_sysfs(arg, "serial", text, sizeof(text)) > 0 ? 0 : 2;
}

TEST_F(info, sysfs_as_user)
{
	EXPECT_EQ(0, trn_in_child(read_sysfs_as_user, (void *)self->bdf));
}

/* 16 digits that begin like an address of the kernel */
static bool has_kernel_address(const char *text)
{
	static const char digits[] = "0123456789abcdef";

	for (; (text = strstr(text, "ffff")); text++)
		if (strspn(text, digits) >= 16)
			return true;
	return false;
}

/* Every file can be read, in one go and in small pieces, with work going on. */
TEST_F(info, debugfs)
{
	struct drm_trainium_op op;
	char dir[PATH_MAX], path[PATH_MAX + 256];
	static char whole[1 << 20];
	struct dirent *entry;
	unsigned int files = 0;
	__u32 bo;
	DIR *d;

	ASSERT_EQ(0, trn_bo_create(self->fd, TRAINIUM_BO_HBM, 0, TRN_MIB(1), &bo));
	op = trn_op_fill(bo, 0, TRN_MIB(1), 1, 1);
	snprintf(dir, sizeof(dir), "/sys/kernel/debug/accel/%s", self->bdf);
	d = opendir(dir);
	if (!d)
		SKIP(return, "no debugfs");
	while ((entry = readdir(d))) {
		struct drm_trainium_submit s = trn_job(self->queue, &op, 1);
		char small[7];
		struct stat st;
		int fd, len;

		snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name);
		if (lstat(path, &st) || !S_ISREG(st.st_mode))
			continue;
		ASSERT_EQ(0, trn_submit(self->fd, &s));
		len = trn_read_file(path, whole, sizeof(whole));
		EXPECT_LT(0, len) TH_LOG("%s: %d", path, len);
		EXPECT_FALSE(has_kernel_address(whole)) TH_LOG("%s", path);
		EXPECT_EQ(0, st.st_mode & 0022) TH_LOG("%s can be written", path);
		fd = open(path, O_RDONLY);
		ASSERT_LE(0, fd);
		while (read(fd, small, sizeof(small)) > 0)
			;
		close(fd);
		files++;
	}
	closedir(d);
	EXPECT_LE(4, files);
}

/* The allocator's view is the one of the queries. */
TEST_F(info, debugfs_hbm)
{
	char path[PATH_MAX], key[64];
	unsigned int s;
	__u32 bo;

	snprintf(path, sizeof(path), "/sys/kernel/debug/accel/%s/hbm", self->bdf);
	ASSERT_EQ(0, trn_bo_create(self->fd, TRAINIUM_BO_HBM, 1, TRN_MIB(3), &bo));
	for (s = 0; s < self->device.num_stacks; s++) {
		struct drm_trainium_query_memory m;

		ASSERT_EQ(0, trn_memory(self->fd, s, &m));
		snprintf(key, sizeof(key), "stack %u: %llu bytes, ", s, m.size);
		EXPECT_EQ(m.free, trn_number_in(path, key)) TH_LOG("%s", key);
	}
}

/* What an operator sees: one line for each device, with its PCI address */
TEST_F(info, log_of_probe)
{
	int log = open("/dev/kmsg", O_RDONLY | O_NONBLOCK);
	char want[64];

	ASSERT_LE(0, log);
	snprintf(want, sizeof(want), "trainium %s", self->bdf);
	EXPECT_TRUE(trn_log_find(log, want)) TH_LOG("nothing about %s", want);
	close(log);
}

/* H13: whatever a user does wrong, the log stays as it is. */
TEST_F(info, quiet_about_users)
{
	struct drm_trainium_op op = trn_op_fill(99, 0, 1, 0, 1);
	int log = trn_log_open();
	unsigned int i;
	__u32 handle;

	for (i = 0; i < 1000; i++) {
		trn_query(self->fd, 99, 0, NULL, 0);
		trn_bo_create(self->fd, 99, 0, 1, &handle);
		trn_bo_create(self->fd, TRAINIUM_BO_HBM, 0, 1ull << 60, &handle);
		trn_run(self->fd, self->queue, &op, 1);
		trn_queue_destroy(self->fd, 12345);
	}
	EXPECT_FALSE(trn_log_find(log, "trainium"));
	close(log);
}

/* All of the log since the start of the kernel */
TEST_F(info, log_clean)
{
	int log = open("/dev/kmsg", O_RDONLY | O_NONBLOCK);
	char line[8192];

	ASSERT_LE(0, log);
	EXPECT_FALSE(trn_log_fault(log, line, sizeof(line))) {
		TH_LOG("%s", line);
	}
	close(log);
}

TEST_F(info, node)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/dev/accel/accel%d", trn_minor_of(self->bdf));
	ASSERT_EQ(0, stat(path, &st));
	/* No rule of ours opens it to all. */
	EXPECT_EQ(0, st.st_mode & 0007);
	EXPECT_TRUE(S_ISCHR(st.st_mode));
}

TEST_F(info, module)
{
	char text[64];
	struct stat st;

	ASSERT_EQ(0, stat("/sys/module/trainium", &st));
	EXPECT_EQ(0, stat("/sys/bus/pci/drivers/trainium", &st));
	EXPECT_LT(0, trn_read_file("/sys/module/trainium/refcnt", text, sizeof(text)));
	/* This file, at least */
	EXPECT_LE(1, strtoul(text, NULL, 10));
}

TEST_HARNESS_MAIN
