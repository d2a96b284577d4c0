// SPDX-License-Identifier: GPL-2.0-only
/* The device goes while it is used: unbind, unload, reload */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>

#include "kselftest_harness.h"
#include "trainium_util.h"

#define SIZE TRN_MIB(4)

FIXTURE(unbind) {
	char bdf[32];
	int log;
};

static int driver(const char *file, const char *bdf)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "/sys/bus/pci/drivers/trainium/%s", file);
	return trn_write_file(path, bdf);
}

/* Binds when it is not, and waits for the node */
static int bring_back(const char *bdf)
{
	__s64 end = trn_now() + trn_limit(10 * TRN_SEC);
	int fd = trn_open_bdf(bdf);

	if (fd < 0)
		driver("bind", bdf);
	while (fd < 0 && trn_now() < end) {
		trn_sleep(5 * TRN_MSEC);
		fd = trn_open_bdf(bdf);
	}
	return fd;
}

FIXTURE_SETUP(unbind)
{
	const char *bdf = trn_bdf(0);

	self->log = trn_log_open();
	ASSERT_NE(NULL, bdf);
	snprintf(self->bdf, sizeof(self->bdf), "%s", bdf);
}

/* Whatever happened, the device is there, whole and empty. */
FIXTURE_TEARDOWN(unbind)
{
	struct trn_snapshot s;
	char line[1024];
	unsigned int i;
	__u32 queue, bo;
	int fd;

	fd = bring_back(self->bdf);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, trn_snapshot(fd, &s));
	for (i = 0; i < s.stacks; i++) {
		EXPECT_EQ(0, s.bo_count[i]);
		EXPECT_EQ(s.free[i], s.largest[i]);
	}
	ASSERT_EQ(0, trn_queue_create(fd, TRAINIUM_STACK_ANY, 0, &queue));
	ASSERT_EQ(0, trn_bo_create(fd, TRAINIUM_BO_HBM, 0, SIZE, &bo));
	EXPECT_EQ(0, trn_fill(fd, queue, bo, 0, SIZE, 1, 1));
	close(fd);
	EXPECT_FALSE(trn_log_fault(self->log, line, sizeof(line))) {
		TH_LOG("%s", line);
	}
	close(self->log);
}

TEST_F(unbind, idle)
{
	unsigned int i;

	for (i = 0; i < 10; i++) {
		int fd;

		ASSERT_EQ(0, driver("unbind", self->bdf));
		EXPECT_EQ(-1, trn_minor_of(self->bdf));
		fd = bring_back(self->bdf);
		ASSERT_LE(0, fd);
		close(fd);
	}
}

static sigjmp_buf fault_env;

static void on_fault(int sig)
{
	siglongjmp(fault_env, 1);
}

/* -1 when reading gives a signal, else the byte */
static int peek(__u8 *p)
{
	struct sigaction sa = { .sa_handler = on_fault }, old_bus, old_segv;
	int ret = -1;

	sigaction(SIGBUS, &sa, &old_bus);
	sigaction(SIGSEGV, &sa, &old_segv);
	if (!sigsetjmp(fault_env, 1))
		ret = __atomic_load_n(p, __ATOMIC_RELAXED);
	sigaction(SIGBUS, &old_bus, NULL);
	sigaction(SIGSEGV, &old_segv, NULL);
	return ret;
}

/* An open file survives, and every call on it says -ENODEV. */
TEST_F(unbind, open_file)
{
	struct drm_trainium_query_device device;
	struct drm_trainium_bo_info info;
	struct drm_trainium_submit s;
	struct drm_trainium_op op;
	struct trn_bo hbm, host;
	__u32 queue, handle;
	int fd = trn_open_bdf(self->bdf), buf = -1, byte;
	void *p;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, trn_queue_create(fd, TRAINIUM_STACK_ANY, 0, &queue));
	ASSERT_EQ(0, trn_hbm_new(fd, 0, SIZE, &hbm));
	ASSERT_EQ(0, trn_host_new(fd, SIZE, &host));
	ASSERT_EQ(0, trn_bo_info(fd, host.handle, &info));
	memset(host.map, 0x31, SIZE);
	if (hbm.map)
		memset(hbm.map, 0x32, SIZE);
	trn_export(fd, host.handle, &buf);

	ASSERT_EQ(0, driver("unbind", self->bdf));

	EXPECT_EQ(-ENODEV, trn_device(fd, &device));
	EXPECT_EQ(-ENODEV, trn_bo_create(fd, TRAINIUM_BO_HBM, 0, SIZE, &handle));
	EXPECT_EQ(-ENODEV, trn_bo_create(fd, TRAINIUM_BO_HOST, 0, SIZE, &handle));
	EXPECT_EQ(-ENODEV, trn_bo_info(fd, hbm.handle, &info));
	EXPECT_EQ(-ENODEV, trn_queue_create(fd, TRAINIUM_STACK_ANY, 0, &handle));
	op = trn_op_fill(hbm.handle, 0, SIZE, 1, 1);
	s = trn_job(queue, &op, 1);
	EXPECT_EQ(-ENODEV, trn_submit(fd, &s));
	EXPECT_EQ(-ENODEV, trn_drain(fd, queue));
	EXPECT_EQ(-ENODEV, trn_queue_destroy(fd, queue));
	EXPECT_EQ(-ENODEV, trn_close_handle(fd, hbm.handle));
	EXPECT_EQ(-ENODEV, trn_sync_create(fd, &handle));
	p = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, fd, info.mmap_offset);
	EXPECT_EQ(MAP_FAILED, p);

	/* HBM is gone: a signal, or nothing of it. Never somebody else's data */
	if (hbm.map) {
		byte = peek(hbm.map + 12345);
		EXPECT_TRUE(byte == -1 || byte == 0 || byte == 0xff) {
			TH_LOG("%#x", byte);
		}
	}
	byte = peek(host.map + 12345);
	EXPECT_TRUE(byte == -1 || byte == 0x31) TH_LOG("%#x", byte);

	/* The old file does not come to life with the new device. */
	byte = bring_back(self->bdf);
	ASSERT_LE(0, byte);
	EXPECT_EQ(-ENODEV, trn_device(fd, &device));
	EXPECT_EQ(0, trn_device(byte, &device));
	/* An old dma-buf is no buffer of the new one either, or a harmless one. */
	if (buf >= 0) {
		trn_import(byte, buf, &handle);
		close(buf);
	}
	close(byte);
	munmap(host.map, SIZE);
	if (hbm.map)
		munmap(hbm.map, SIZE);
	close(fd);
}

/* What waits for a job that will never end is woken. */
TEST_F(unbind, waiters_wake)
{
	unsigned int round;

	for (round = 0; round < 6; round++) {
		struct drm_trainium_sync out = {}, in = {};
		struct drm_trainium_op ops[32];
		struct drm_trainium_submit s;
		struct trn_gate gate = {};
		bool gated = false;
		struct trn_bo hbm;
		unsigned int i;
		__u32 queue;
		int fd = trn_open_bdf(self->bdf), file, go[2], ret;
		pid_t pid;
		char byte;

		ASSERT_LE(0, fd);
		ASSERT_EQ(0, trn_queue_create(fd, 0, 1, &queue));
		ASSERT_EQ(0, trn_hbm_new(fd, 0, TRN_MIB(64), &hbm));
		ASSERT_EQ(0, trn_sync_create(fd, &out.handle));
		for (i = 0; i < ARRAY_SIZE(ops); i++)
			ops[i] = trn_op_copy(hbm.handle, TRN_MIB(32), hbm.handle, 0, TRN_MIB(32));
		s = trn_job(queue, ops, ARRAY_SIZE(ops));
		/* Half of the rounds: one that has not even started */
		if (round % 2 && !trn_gate_open(&gate)) {
			gated = true;
			ASSERT_EQ(0, trn_gate_sync(&gate, fd, &in.handle));
			s.in_syncs = trn_ptr(&in);
			s.in_sync_count = 1;
		}
		s.out_syncs = trn_ptr(&out);
		s.out_sync_count = 1;
		ASSERT_EQ(0, trn_submit(fd, &s));
		ASSERT_EQ(0, trn_sync_export_file(fd, out.handle, &file));
		ASSERT_EQ(0, pipe(go));
		pid = trn_fork();
		ASSERT_LE(0, pid);
		if (!pid) {
			if (write(go[1], "x", 1) != 1)
				_exit(99);
			if (round < 4) {
				ret = trn_drain(fd, queue);
				_exit(ret == -ENODEV ? 0 : ret ? 1 : 2);
			}
			/* In the core's wait; its error is the fence's or none. */
			trn_sync_wait(fd, out.handle, 0, trn_limit(30 * TRN_SEC));
			_exit(0);
		}
		ASSERT_EQ(1, read(go[0], &byte, 1));
		trn_sleep(5 * TRN_MSEC);
		ASSERT_EQ(0, driver("unbind", self->bdf));
		ret = trn_reap(pid, trn_limit(5 * TRN_SEC));
		/* 2: it was quicker than the unbind */
		EXPECT_TRUE(!ret || (ret == 2 && !gated)) TH_LOG("round %u: %d", round, ret);
		ret = trn_sync_file_status(file);
		EXPECT_TRUE(ret == -ENODEV || (ret == 1 && !gated)) {
			TH_LOG("round %u: %d", round, ret);
		}
		if (gated) {
			trn_gate_release(&gate);
			trn_gate_close(&gate);
		}
		munmap(hbm.map, hbm.size);
		close(file);
		close(fd);
		close(go[0]);
		close(go[1]);
		fd = bring_back(self->bdf);
		ASSERT_LE(0, fd);
		close(fd);
	}
}

static void load(const char *bdf, unsigned int kind)
{
	for (;;) {
		struct trn_bo host, hbm;
		__u32 queue, user;
		static __u8 mem[65536];
		int fd = trn_open_bdf(bdf), ret = 0;

		if (fd < 0) {
			trn_sleep(TRN_MSEC);
			continue;
		}
		if (!trn_queue_create(fd, kind % 4, 1 + kind % 4, &queue) &&
		    !trn_host_new(fd, SIZE, &host) && !trn_hbm_new(fd, kind % 4, SIZE, &hbm) &&
		    !trn_bo_userptr(fd, mem, sizeof(mem), 0, &user)) {
			while (!ret) {
				struct drm_trainium_op op = trn_op_copy(hbm.handle, 0, host.handle,
									0, SIZE);
				struct drm_trainium_submit s = trn_job(queue, &op, 1);

				ret = kind % 2 ? trn_submit(fd, &s) :
						 trn_run(fd, queue, &op, 1);
			}
			/* Gone under our feet; all of it is still held. */
			trn_sleep(2 * TRN_MSEC);
			if (host.map)
				munmap(host.map, SIZE);
			if (hbm.map)
				munmap(hbm.map, SIZE);
		}
		close(fd);
	}
}

static void read_all(const char *dir, int depth);

static void read_one(const char *path, int depth)
{
	static char buf[65536];
	struct stat st;

	if (lstat(path, &st))
		return;
	if (S_ISDIR(st.st_mode)) {
		read_all(path, depth);
	} else if (S_ISREG(st.st_mode) && (st.st_mode & 0444) && !strstr(path, "/resource") &&
		   !strstr(path, "/rom")) {
		trn_read_file(path, buf, sizeof(buf));
	}
}

static void read_all(const char *dir, int depth)
{
	struct dirent *entry;
	DIR *d;

	if (depth > 3)
		return;
	d = opendir(dir);
	if (!d)
		return;
	while ((entry = readdir(d))) {
		char path[PATH_MAX];

		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name);
		read_one(path, depth + 1);
	}
	closedir(d);
}

/* E4, E5: everything that looks at the device does so all the time */
static void read_for_ever(const char *bdf)
{
	char path[PATH_MAX];

	for (;;) {
		snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s", bdf);
		read_all(path, 1);
		snprintf(path, sizeof(path), "/sys/kernel/debug/accel/%s", bdf);
		read_all(path, 1);
	}
}

static void crowd(pid_t *pid, unsigned int n, const char *bdf)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		pid[i] = trn_fork();
		if (pid[i])
			continue;
		if (i < n - 1)
			load(bdf, i);
		read_for_ever(bdf);
	}
}

static void disperse(struct __test_metadata *_metadata, pid_t *pid, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		kill(pid[i], SIGKILL);
	for (i = 0; i < n; i++)
		EXPECT_EQ(128 + SIGKILL, trn_reap(pid[i], TRN_PATIENCE));
}

TEST_F_TIMEOUT(unbind, under_load, 120)
{
	unsigned int i;
	pid_t pid[4];

	crowd(pid, ARRAY_SIZE(pid), self->bdf);
	for (i = 0; i < 10; i++) {
		int fd;

		trn_sleep((20 + 13 * i) * TRN_MSEC);
		ASSERT_EQ(0, driver("unbind", self->bdf));
		if (i % 2)
			trn_sleep(10 * TRN_MSEC);
		fd = bring_back(self->bdf);
		ASSERT_LE(0, fd) TH_LOG("round %u", i);
		close(fd);
	}
	disperse(_metadata, pid, ARRAY_SIZE(pid));
}

/* The other device does not notice. */
static int make_list(int fd, __u32 *list)
{
	struct drm_trainium_list_create args = {
		.op_count = 1,
		.op_stride = sizeof(struct drm_trainium_op),
		.stack = TRAINIUM_STACK_ANY,
	};
	struct drm_trainium_op op;
	__u32 handle;
	int ret;

	ret = trn_bo_create(fd, TRAINIUM_BO_HBM, TRAINIUM_STACK_ANY, TRN_PAGE, &handle);
	if (ret)
		return ret;
	op = trn_op_fill(handle, 0, TRN_PAGE, 0, 1);
	args.ops = trn_ptr(&op);
	ret = trn_ioctl(fd, DRM_IOCTL_TRAINIUM_LIST_CREATE, &args);
	*list = args.list;
	return trn_close_handle(fd, handle) ?: ret;
}

/* What a file can still make while its device goes */
static void *make_things(void *arg)
{
	static __u8 mem[65536];
	struct sched_param param = {};
	struct trn_partner partner;
	unsigned int i;
	int fd = (long)arg, ret = 0;
	bool foreign;

	/* Stopped anywhere by those who just run */
	pthread_setschedparam(pthread_self(), SCHED_IDLE, &param);
	foreign = !trn_partner_open(&partner, TRN_UDMABUF, TRN_KIB(64));
	for (i = 0; ret != -ENODEV; i++) {
		__u32 handle = 0, queue = 0;

		switch (i % 6) {
		case 0:
			ret = trn_bo_create(fd, TRAINIUM_BO_HOST, 0, SIZE, &handle);
			break;
		case 1:
			ret = trn_bo_userptr(fd, mem, sizeof(mem), 0, &handle);
			break;
		case 2:
			ret = trn_bo_create(fd, TRAINIUM_BO_HBM, TRAINIUM_STACK_ANY, SIZE, &handle);
			break;
		case 3:
			ret = trn_queue_create(fd, TRAINIUM_STACK_ANY, 3, &queue);
			break;
		case 4:
			ret = make_list(fd, &queue);
			break;
		default:
			ret = foreign ? trn_import(fd, partner.buf, &handle) : 0;
			break;
		}
		if (handle)
			ret = trn_close_handle(fd, handle) ?: ret;
		if (queue)
			ret = trn_queue_destroy(fd, queue) ?: ret;
	}
	if (foreign)
		trn_partner_close(&partner);
	return NULL;
}

/* For a while only: an unbind waits for what has been begun. */
static void *just_run(void *arg)
{
	__s64 end = trn_now() + 200 * TRN_MSEC;

	while (trn_now() < end)
		;
	return NULL;
}

/* Nothing is mapped for a device that has lost its driver: see DMA-API debugging. */
TEST_F_TIMEOUT(unbind, made_meanwhile, 60)
{
	unsigned int round, i;

	for (round = 0; round < 10; round++) {
		pthread_t makers[6], runners[2];
		int fd = bring_back(self->bdf);

		ASSERT_LE(0, fd);
		for (i = 0; i < ARRAY_SIZE(makers); i++)
			ASSERT_EQ(0, pthread_create(&makers[i], NULL, make_things,
						    (void *)(long)fd));
		for (i = 0; i < ARRAY_SIZE(runners); i++)
			ASSERT_EQ(0, pthread_create(&runners[i], NULL, just_run, NULL));
		trn_sleep((50 + 7 * round) * TRN_MSEC);
		ASSERT_EQ(0, driver("unbind", self->bdf));
		for (i = 0; i < ARRAY_SIZE(runners); i++)
			ASSERT_EQ(0, pthread_join(runners[i], NULL));
		for (i = 0; i < ARRAY_SIZE(makers); i++)
			ASSERT_EQ(0, pthread_join(makers[i], NULL));
		close(fd);
	}
}

/* Subscriptions without end: NULL, or what is wrong with one of them */
static void *subscribe(void *arg)
{
	int fd = (long)arg, ret;

	for (;;) {
		struct drm_trainium_events events = {
			.types = 1ull << TRAINIUM_EVENT_GONE,
			.record_size = sizeof(struct drm_trainium_event),
			.flags = TRAINIUM_EVENTS_NONBLOCK,
		};
		struct drm_trainium_event event;
		ssize_t len;

		ret = trn_ioctl(fd, DRM_IOCTL_TRAINIUM_EVENTS, &events);
		if (ret)
			return ret == -ENODEV ? NULL : "cannot be made";
		do {
			sched_yield();
			len = read(events.fd, &event, sizeof(event));
		} while (len < 0 && errno == EAGAIN && !(rand() % 4));
		close(events.fd);
		if (len < 0 && errno == ENODEV)
			return "has ended without the last event";
	}
}

/* Whoever could subscribe is told of the end. */
TEST_F_TIMEOUT(unbind, subscriptions_meanwhile, 60)
{
	unsigned int round, i;
	void *wrong;

	for (round = 0; round < 20; round++) {
		pthread_t threads[4];
		int fd = bring_back(self->bdf);

		ASSERT_LE(0, fd);
		for (i = 0; i < ARRAY_SIZE(threads); i++)
			ASSERT_EQ(0, pthread_create(&threads[i], NULL, subscribe,
						    (void *)(long)fd));
		trn_sleep(10 * TRN_MSEC);
		ASSERT_EQ(0, driver("unbind", self->bdf));
		for (i = 0; i < ARRAY_SIZE(threads); i++) {
			ASSERT_EQ(0, pthread_join(threads[i], &wrong));
			EXPECT_EQ(NULL, wrong) TH_LOG("%s", (char *)wrong);
		}
		close(fd);
	}
}

TEST_F(unbind, other_device)
{
	struct trn_bo in, out;
	const char *other = trn_bdf(1);
	unsigned int i;
	__u32 queue;
	int fd;

	if (!other)
		SKIP(return, "one device only");
	fd = trn_open_bdf(other);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, trn_queue_create(fd, TRAINIUM_STACK_ANY, 0, &queue));
	ASSERT_EQ(0, trn_hbm_new(fd, 0, SIZE, &in));
	ASSERT_EQ(0, trn_host_new(fd, SIZE, &out));
	for (i = 0; i < 5; i++) {
		ASSERT_EQ(0, trn_fill(fd, queue, in.handle, 0, SIZE, i, 1));
		ASSERT_EQ(0, driver("unbind", self->bdf));
		ASSERT_EQ(0, trn_copy(fd, queue, out.handle, 0, in.handle, 0, SIZE));
		EXPECT_EQ(-1, trn_check_byte(out.map, SIZE, i));
		close(bring_back(self->bdf));
	}
	close(fd);
}

/* Memory of a device that is gone, freed afterwards, in any order */
TEST_F(unbind, late_close)
{
	unsigned int i;

	for (i = 0; i < 6; i++) {
		int fd = trn_open_bdf(self->bdf), other = trn_open_bdf(self->bdf), buf = -1, now;
		struct trn_bo hbm, host;
		__u32 handle;

		ASSERT_LE(0, fd);
		ASSERT_EQ(0, trn_hbm_new(fd, 0, SIZE, &hbm));
		ASSERT_EQ(0, trn_host_new(fd, SIZE, &host));
		ASSERT_EQ(0, trn_export(fd, i % 2 ? hbm.handle : host.handle, &buf));
		ASSERT_EQ(0, trn_import(other, buf, &handle));
		ASSERT_EQ(0, driver("unbind", self->bdf));
		if (i < 3)
			close(fd);
		now = bring_back(self->bdf);
		ASSERT_LE(0, now);
		close(other);
		if (i >= 3)
			close(fd);
		munmap(host.map, SIZE);
		if (hbm.map)
			munmap(hbm.map, SIZE);
		close(buf);
		close(now);
	}
}

/* E4: out of the tree of devices and found again, with everything held */
TEST_F(unbind, removed_and_rescanned)
{
	unsigned int i;

	for (i = 0; i < 3; i++) {
		struct drm_trainium_query_device device;
		int fd = trn_open_bdf(self->bdf), again;
		__s64 end = trn_now() + trn_limit(10 * TRN_SEC);
		struct drm_trainium_op op;
		struct drm_trainium_submit s;
		struct trn_bo hbm, host;
		__u32 queue;

		ASSERT_LE(0, fd);
		ASSERT_EQ(0, trn_queue_create(fd, 0, 2, &queue));
		ASSERT_EQ(0, trn_hbm_new(fd, 0, TRN_MIB(32), &hbm));
		ASSERT_EQ(0, trn_host_new(fd, TRN_MIB(32), &host));
		op = trn_op_copy(hbm.handle, 0, host.handle, 0, TRN_MIB(32));
		s = trn_job(queue, &op, 1);
		ASSERT_EQ(0, trn_submit(fd, &s));
		ASSERT_EQ(0, trn_write_sysfs(self->bdf, "remove", "1"));
		EXPECT_EQ(-ENODEV, trn_device(fd, &device));
		ASSERT_EQ(0, trn_write_file("/sys/bus/pci/rescan", "1"));
		do {
			trn_sleep(5 * TRN_MSEC);
			again = trn_open_bdf(self->bdf);
		} while (again < 0 && trn_now() < end);
		ASSERT_LE(0, again);
		EXPECT_EQ(-ENODEV, trn_device(fd, &device));
		EXPECT_EQ(0, trn_device(again, &device));
		munmap(host.map, host.size);
		if (hbm.map)
			munmap(hbm.map, hbm.size);
		close(fd);
		close(again);
	}
}

static int module_path(char *path, size_t size)
{
	static const char * const where[] = {
		"/lib/modules/trainium.ko",
		"/lib/modules/%s/extra/trainium.ko",
		"/lib/modules/%s/updates/dkms/trainium.ko",
		"/opt/trainium/lib/modules/trainium.ko",
	};
	struct utsname name;
	unsigned int i;

	if (getenv("TRAINIUM_KO")) {
		snprintf(path, size, "%s", getenv("TRAINIUM_KO"));
		return access(path, R_OK);
	}
	uname(&name);
	for (i = 0; i < ARRAY_SIZE(where); i++) {
		snprintf(path, size, where[i], name.release);
		if (!access(path, R_OK))
			return 0;
	}
	return -1;
}

static int unload(void)
{
	return syscall(SYS_delete_module, "trainium", O_NONBLOCK) ? -errno : 0;
}

static int reload(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), ret;

	if (fd < 0)
		return -errno;
	ret = syscall(SYS_finit_module, fd, "", 0) ? -errno : 0;
	close(fd);
	return ret;
}

/* Waits for all devices: the probe is asynchronous. */
static bool wait_for_devices(unsigned int n)
{
	__s64 end = trn_now() + trn_limit(10 * TRN_SEC);

	while (trn_num_devices() < n && trn_now() < end)
		trn_sleep(2 * TRN_MSEC);
	return trn_num_devices() == n;
}

TEST_F_TIMEOUT(unbind, reload, 90)
{
	unsigned int devices = trn_num_devices(), i;
	__u64 slab = 0;
	char path[PATH_MAX];

	if (module_path(path, sizeof(path)))
		SKIP(return, "trainium.ko not found (set TRAINIUM_KO)");
	for (i = 0; i < 10; i++) {
		int fd = bring_back(self->bdf);

		ASSERT_LE(0, fd);
		/* In use: refused, and nothing has changed. */
		EXPECT_EQ(-EAGAIN, unload());
		EXPECT_LE(0, trn_minor_of(self->bdf));
		close(fd);
		ASSERT_EQ(0, unload());
		EXPECT_EQ(0, trn_num_devices());
		ASSERT_EQ(0, reload(path));
		/* Half of the times it is unloaded while it still probes. */
		if (i % 2) {
			ASSERT_EQ(0, unload());
			ASSERT_EQ(0, reload(path));
		}
		ASSERT_TRUE(wait_for_devices(devices));
		if (i == 2)
			slab = trn_number_in("/proc/meminfo", "SUnreclaim:");
	}
	EXPECT_GE(slab + 4096, trn_number_in("/proc/meminfo", "SUnreclaim:"));
}

/* A mapping or a dma-buf holds the module as well as a file does. */
TEST_F(unbind, held_by_mapping)
{
	unsigned int devices = trn_num_devices();
	int fd = trn_open_bdf(self->bdf), buf;
	struct trn_bo bo;
	char path[PATH_MAX];

	if (module_path(path, sizeof(path)))
		SKIP(return, "trainium.ko not found (set TRAINIUM_KO)");
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, trn_host_new(fd, SIZE, &bo));
	ASSERT_EQ(0, trn_export(fd, bo.handle, &buf));
	close(fd);
	EXPECT_EQ(-EAGAIN, unload());
	munmap(bo.map, SIZE);
	/* The dma-buf alone */
	EXPECT_EQ(-EAGAIN, unload());
	close(buf);
	/* Files are closed a little later than close() says. */
	trn_sleep(20 * TRN_MSEC);
	ASSERT_EQ(0, unload());
	ASSERT_EQ(0, reload(path));
	ASSERT_TRUE(wait_for_devices(devices));
}

/* The same unload with readers of sysfs and debugfs */
TEST_F_TIMEOUT(unbind, reload_with_readers, 90)
{
	unsigned int devices = trn_num_devices(), i;
	char path[PATH_MAX];
	pid_t pid;

	if (module_path(path, sizeof(path)))
		SKIP(return, "trainium.ko not found (set TRAINIUM_KO)");
	pid = trn_fork();
	ASSERT_LE(0, pid);
	if (!pid)
		read_for_ever(self->bdf);
	for (i = 0; i < 4; i++) {
		trn_sleep(10 * TRN_MSEC);
		ASSERT_EQ(0, unload());
		ASSERT_EQ(0, reload(path));
		ASSERT_TRUE(wait_for_devices(devices));
	}
	disperse(_metadata, &pid, 1);
}

TEST_HARNESS_MAIN
