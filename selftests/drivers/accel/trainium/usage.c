// SPDX-License-Identifier: GPL-2.0-only
/* Who holds the device, and how busy its parts are */
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "kselftest_harness.h"
#include "trainium_util.h"

FIXTURE(usage) {
	int fd;
	int log;
	char bdf[32];
	__u32 queue;
	struct drm_trainium_query_device device;
};

FIXTURE_SETUP(usage)
{
	self->log = trn_log_open();
	ASSERT_NE(NULL, trn_bdf(0));
	snprintf(self->bdf, sizeof(self->bdf), "%s", trn_bdf(0));
	self->fd = trn_open(0);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, trn_device(self->fd, &self->device));
	ASSERT_EQ(0, trn_queue_create(self->fd, TRAINIUM_STACK_ANY, 0, &self->queue));
}

FIXTURE_TEARDOWN(usage)
{
	char line[1024];

	close(self->fd);
	EXPECT_FALSE(trn_log_fault(self->log, line, sizeof(line))) {
		TH_LOG("%s", line);
	}
	close(self->log);
}

static int holder(int fd, __u32 from, struct drm_trainium_query_holder *h)
{
	return trn_query(fd, TRAINIUM_QUERY_HOLDER, from, h, sizeof(*h));
}

/* Those that can be seen, in @h; -errno, or how many */
static int holders(int fd, struct drm_trainium_query_holder *h, int max)
{
	__u32 from = 0;
	int n, ret;

	for (n = 0; n < max; n++) {
		ret = holder(fd, from, &h[n]);
		if (ret == -ENOENT)
			return n;
		if (ret)
			return ret;
		if (h[n].id < from)
			return -ERANGE;
		from = h[n].id + 1;
	}
	return -E2BIG;
}

static struct drm_trainium_query_holder *find_pid(struct drm_trainium_query_holder *h, int n,
						  pid_t pid)
{
	for (; n > 0; n--, h++)
		if (h->pid == pid)
			return h;
	return NULL;
}

TEST_F(usage, holder_self)
{
	struct drm_trainium_query_holder all[64], h[64], *self_h = NULL;
	__s64 begin = trn_now();
	int fd = trn_open(0), n, i;
	struct trn_bo hbm, host;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, trn_hbm_new(fd, 0, TRN_MIB(3), &hbm));
	ASSERT_EQ(0, trn_host_new(fd, TRN_MIB(2), &host));
	n = holders(fd, all, ARRAY_SIZE(all));
	ASSERT_LE(2, n);
	for (i = 0; i < n; i++) {
		EXPECT_EQ(0, all[i].others);
		EXPECT_EQ(0, all[i].pad);
		EXPECT_EQ('\0', all[i].comm[15]);
		if (!(all[i].flags & TRAINIUM_HOLDER_SELF))
			continue;
		EXPECT_EQ(NULL, self_h);
		self_h = &all[i];
	}
	ASSERT_NE(NULL, self_h);
	EXPECT_EQ(TRAINIUM_HOLDER_SELF, self_h->flags);
	EXPECT_EQ(getpid(), self_h->pid);
	EXPECT_EQ(getuid(), self_h->uid);
	EXPECT_STREQ("usage", self_h->comm);
	EXPECT_LE(begin, self_h->since_ns);
	EXPECT_GE(trn_now(), self_h->since_ns);
	EXPECT_EQ(TRN_MIB(3), self_h->hbm_bytes);
	EXPECT_EQ(TRN_MIB(2), self_h->host_bytes);
	EXPECT_EQ(0, self_h->num_queues);

	ASSERT_EQ(0, trn_queue_create(fd, TRAINIUM_STACK_ANY, 2, &self->queue));
	trn_bo_put(fd, &hbm);
	ASSERT_EQ(0, holder(fd, self_h->id, h));
	EXPECT_EQ(1, h[0].num_queues);
	EXPECT_EQ(2, h[0].num_rings);
	EXPECT_EQ(0, h[0].hbm_bytes);
	/* A mapping would keep the file. */
	trn_bo_put(fd, &host);
	close(fd);
	/* Gone with its file */
	n = holders(self->fd, h, ARRAY_SIZE(h));
	ASSERT_LE(1, n);
	for (i = 0; i < n; i++)
		EXPECT_NE(self_h->id, h[i].id);
}

TEST_F(usage, holder_end)
{
	struct drm_trainium_query_holder h;
	__u8 *bytes = (void *)&h;

	EXPECT_EQ(-ENOENT, holder(self->fd, ~0u, &h));
	memset(&h, 0xee, sizeof(h));
	ASSERT_EQ(0, trn_query(self->fd, TRAINIUM_QUERY_HOLDER, 0, &h, 8));
	EXPECT_EQ(-1, trn_check_byte(bytes + 8, sizeof(h) - 8, 0xee));
}

/* A child that holds the device under a name, until the pipe is closed */
static pid_t hold(const char *name, bool as_user, int wait[2])
{
	char path[PATH_MAX], byte;
	pid_t pid;
	int fd;

	if (pipe(wait))
		return -1;
	if (as_user && trn_user_node(0, path, sizeof(path)))
		return -1;
	pid = trn_fork();
	if (pid)
		return pid;
	prctl(PR_SET_NAME, name);
	if (as_user && trn_become_user())
		_exit(1);
	fd = as_user ? open(path, O_RDWR) : trn_open(0);
	close(wait[1]);
	while (read(wait[0], &byte, 1) > 0)
		;
	_exit(fd < 0);
}

static void let_go(pid_t pid, int wait[2])
{
	close(wait[0]);
	close(wait[1]);
	trn_reap(pid, TRN_PATIENCE);
}

/* Waits until the child has opened the device. */
static struct drm_trainium_query_holder *see(int fd, struct drm_trainium_query_holder *h, int max,
					     pid_t pid)
{
	__s64 end = trn_now() + TRN_PATIENCE;
	struct drm_trainium_query_holder *found;

	do {
		found = find_pid(h, holders(fd, h, max), pid);
		if (!found)
			trn_sleep(10 * TRN_MSEC);
	} while (!found && trn_now() < end);
	return found;
}

TEST_F(usage, holder_other)
{
	struct drm_trainium_query_holder h[64], *other;
	int wait[2];
	pid_t pid = hold("somebody", true, wait);

	ASSERT_LT(0, pid);
	other = see(self->fd, h, ARRAY_SIZE(h), pid);
	ASSERT_NE(NULL, other);
	EXPECT_STREQ("somebody", other->comm);
	EXPECT_EQ(TRN_TEST_UID, other->uid);
	EXPECT_EQ(0, other->flags);
	let_go(pid, wait);
	EXPECT_EQ(NULL, find_pid(h, holders(self->fd, h, ARRAY_SIZE(h)), pid));
}

/* Killed: it is gone at once. */
TEST_F(usage, holder_killed)
{
	struct drm_trainium_query_holder h[64];
	int wait[2];
	pid_t pid = hold("victim", false, wait);

	ASSERT_LT(0, pid);
	ASSERT_NE(NULL, see(self->fd, h, ARRAY_SIZE(h), pid));
	kill(pid, SIGKILL);
	ASSERT_EQ(pid, waitpid(pid, NULL, 0));
	EXPECT_EQ(NULL, find_pid(h, holders(self->fd, h, ARRAY_SIZE(h)), pid));
	close(wait[0]);
	close(wait[1]);
}

struct look {
	char path[PATH_MAX];
	pid_t root, user;
};

/* Not root: those of one's own user, and how many others there are */
static int look_as_user(void *arg)
{
	struct drm_trainium_query_holder h[64], *self_h;
	struct look *look = arg;
	int fd, n;

	if (trn_become_user())
		return 1;
	fd = open(look->path, O_RDWR);
	if (fd < 0)
		return 2;
	n = holders(fd, h, ARRAY_SIZE(h));
	if (n != 2 || !find_pid(h, n, look->user))
		return 3;
	self_h = find_pid(h, n, getpid());
	if (!self_h || !(self_h->flags & TRAINIUM_HOLDER_SELF) || self_h->uid != TRN_TEST_UID)
		return 4;
	/* The test's own file and the child of root */
	return self_h->others == 2 ? 0 : 5;
}

TEST_F(usage, holder_as_user)
{
	struct drm_trainium_query_holder h[64];
	int root_wait[2], user_wait[2];
	struct look look;

	look.root = hold("root's", false, root_wait);
	look.user = hold("user's", true, user_wait);
	ASSERT_LT(0, look.root);
	ASSERT_LT(0, look.user);
	ASSERT_NE(NULL, see(self->fd, h, ARRAY_SIZE(h), look.root));
	ASSERT_NE(NULL, see(self->fd, h, ARRAY_SIZE(h), look.user));
	ASSERT_EQ(0, trn_user_node(0, look.path, sizeof(look.path)));
	EXPECT_EQ(0, trn_in_child(look_as_user, &look));
	let_go(look.root, root_wait);
	let_go(look.user, user_wait);
}

static int look_in_namespace(void *arg)
{
	struct drm_trainium_query_holder h[64];
	struct look *look = arg;
	int fd = trn_open(0), n, i, outside = 0;

	/* Root sees all, but those outside have neither number nor name here. */
	n = holders(fd, h, ARRAY_SIZE(h));
	if (getpid() != 1 || n < 2 || !find_pid(h, n, 1))
		return 1;
	for (i = 0; i < n; i++) {
		if (h[i].pid == 1)
			continue;
		if (h[i].pid || h[i].comm[0])
			return 2;
		outside++;
	}
	if (!outside)
		return 3;
	close(fd);
	/* Others see none of them. */
	if (trn_become_user())
		return 4;
	fd = open(look->path, O_RDWR);
	n = holders(fd, h, ARRAY_SIZE(h));
	if (n != 1 || h[0].pid != 1)
		return 5;
	return h[0].others == (__u32)outside ? 0 : 6;
}

static int enter_namespace(void *arg)
{
	int status;
	pid_t pid;

	if (unshare(CLONE_NEWPID))
		return 10;
	pid = fork();
	if (!pid)
		_exit(look_in_namespace(arg));
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return 11;
	return WEXITSTATUS(status);
}

/* F13: numbers are those of the reader's namespace */
TEST_F(usage, holder_pid_namespace)
{
	struct drm_trainium_query_holder h[64];
	int wait[2], ret;
	struct look look;

	/* Of the same user as the one that looks, yet outside */
	look.user = hold("outside", true, wait);
	ASSERT_LT(0, look.user);
	ASSERT_NE(NULL, see(self->fd, h, ARRAY_SIZE(h), look.user));
	ASSERT_EQ(0, trn_user_node(0, look.path, sizeof(look.path)));
	ret = trn_in_child(enter_namespace, &look);
	let_go(look.user, wait);
	if (ret == 10)
		SKIP(return, "no PID namespaces");
	EXPECT_EQ(0, ret);
}

static __u64 busy_sum(struct _test_data_usage *self)
{
	struct drm_trainium_query_engine e;
	__u64 sum = 0;
	__u32 i;

	for (i = 0; i < self->device.num_engines; i++)
		if (!trn_engine(self->fd, i, &e))
			sum += e.busy_ns;
	return sum;
}

/* It grows while there is work, by no more than the time, and then stands. */
TEST_F(usage, engine_busy)
{
	struct drm_trainium_query_engine *before, *after;
	unsigned int i, busy = 0;
	__s64 start, wall;
	__u64 sum;
	__u32 bo;

	before = calloc(self->device.num_engines, sizeof(*before));
	after = calloc(self->device.num_engines, sizeof(*after));
	ASSERT_NE(NULL, before);
	ASSERT_NE(NULL, after);
	ASSERT_EQ(0, trn_bo_create(self->fd, TRAINIUM_BO_HBM, 0, TRN_MIB(64), &bo));
	trn_sleep(50 * TRN_MSEC);
	start = trn_now();
	for (i = 0; i < self->device.num_engines; i++)
		ASSERT_EQ(0, trn_engine(self->fd, i, &before[i]));
	for (i = 0; i < 8; i++)
		ASSERT_EQ(0, trn_copy(self->fd, self->queue, bo, TRN_MIB(32), bo, 0, TRN_MIB(32)));
	for (i = 0; i < self->device.num_engines; i++)
		ASSERT_EQ(0, trn_engine(self->fd, i, &after[i]));
	wall = trn_now() - start;
	for (i = 0; i < self->device.num_engines; i++) {
		__u64 ns = after[i].busy_ns - before[i].busy_ns;

		EXPECT_LE(before[i].busy_ns, after[i].busy_ns);
		EXPECT_GE(wall, ns) TH_LOG("engine %u", i);
		/* Where bytes were moved there was work, and the reverse. */
		EXPECT_EQ(after[i].bytes != before[i].bytes, ns != 0) TH_LOG("engine %u", i);
		busy += ns != 0;
	}
	EXPECT_LE(1, busy);
	trn_sleep(50 * TRN_MSEC);
	sum = busy_sum(self);
	trn_sleep(50 * TRN_MSEC);
	EXPECT_EQ(sum, busy_sum(self));
	free(before);
	free(after);
}

/* Small jobs, which end before their submit returns, count too. */
TEST_F(usage, engine_busy_small)
{
	__u64 before = busy_sum(self), after;
	struct trn_bo host;
	unsigned int i;
	__s64 start;
	__u32 bo;

	ASSERT_EQ(0, trn_bo_create(self->fd, TRAINIUM_BO_HBM, 0, TRN_PAGE, &bo));
	ASSERT_EQ(0, trn_host_new(self->fd, TRN_PAGE, &host));
	start = trn_now();
	for (i = 0; i < 2000; i++)
		ASSERT_EQ(0, trn_copy(self->fd, self->queue, bo, 0, host.handle, 0, TRN_PAGE));
	after = busy_sum(self);
	EXPECT_LT(before, after);
	/* Zeroing of the buffer was work, too. */
	EXPECT_GT(4 * (trn_now() - start) + TRN_SEC, after - before);
}

/* While work goes on the time goes on. */
TEST_F(usage, engine_busy_now)
{
	struct drm_trainium_op ops[64];
	struct drm_trainium_submit s;
	unsigned int i, grown = 0;
	__u64 last = 0, now;
	__u32 bo;

	ASSERT_EQ(0, trn_bo_create(self->fd, TRAINIUM_BO_HBM, 0, TRN_MIB(64), &bo));
	for (i = 0; i < ARRAY_SIZE(ops); i++)
		ops[i] = trn_op_copy(bo, TRN_MIB(32), bo, 0, TRN_MIB(32));
	s = trn_job(self->queue, ops, ARRAY_SIZE(ops));
	ASSERT_EQ(0, trn_submit(self->fd, &s));
	for (i = 0; i < 5; i++) {
		now = busy_sum(self);
		EXPECT_LE(last, now);
		grown += now > last;
		last = now;
		trn_sleep(TRN_MSEC);
	}
	EXPECT_LE(2, grown);
	ASSERT_EQ(0, trn_drain(self->fd, self->queue));
}

static int core(int fd, __u32 index, struct drm_trainium_query_core *c)
{
	return trn_query(fd, TRAINIUM_QUERY_CORE, index, c, sizeof(*c));
}

TEST_F(usage, cores)
{
	struct drm_trainium_reset args = { .scope = TRAINIUM_RESET_CORE };
	const __u32 last = self->device.num_cores - 1;
	struct drm_trainium_query_core a, b;
	unsigned int i, row;
	__s64 start;

	for (i = 0; i < self->device.num_cores; i++) {
		ASSERT_EQ(0, core(self->fd, i, &a));
		trn_sleep(TRN_MSEC);
		ASSERT_EQ(0, core(self->fd, i, &b));
		for (row = 0; row < 4; row++) {
			EXPECT_LT(a.idle[row], b.idle[row]) TH_LOG("core %u row %u", i, row);
			/* Nothing runs on a core of the model. */
			EXPECT_EQ(0, b.matmul[row]);
			EXPECT_EQ(0, b.weight_load[row]);
			EXPECT_EQ(0, b.fast_weight_load[row]);
		}
	}
	EXPECT_EQ(-EINVAL, core(self->fd, self->device.num_cores, &a));
	EXPECT_EQ(-EINVAL, core(self->fd, ~0u, &a));
	/* A reset of a core starts its counters anew, and not those of others. */
	trn_sleep(100 * TRN_MSEC);
	ASSERT_EQ(0, core(self->fd, last, &a));
	args.index = last;
	start = trn_now();
	ASSERT_EQ(0, trn_ioctl(self->fd, DRM_IOCTL_TRAINIUM_RESET, &args));
	ASSERT_EQ(0, core(self->fd, last - 1, &b));
	EXPECT_LT(a.idle[0], b.idle[0]);
	ASSERT_EQ(0, core(self->fd, last, &b));
	EXPECT_LT(b.idle[0], trn_now() - start + 50 * TRN_MSEC);
}

/* Registers of what is in use, by name, and no address among them */
TEST_F(usage, debugfs_registers)
{
	static char text[1 << 20];
	char path[PATH_MAX];
	int len;

	snprintf(path, sizeof(path), "/sys/kernel/debug/accel/%s/registers", self->bdf);
	len = trn_read_file(path, text, sizeof(text));
	if (len == -ENOENT)
		SKIP(return, "no debugfs");
	ASSERT_LT(0, len);
	EXPECT_NE(NULL, strstr(text, " m2s-state "));
	EXPECT_NE(NULL, strstr(text, " s2m-state "));
	EXPECT_NE(NULL, strstr(text, " m2s 0x"));
	EXPECT_NE(NULL, strstr(text, " tail "));
}

TEST_HARNESS_MAIN
