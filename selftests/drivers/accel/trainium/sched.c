// SPDX-License-Identifier: GPL-2.0-only
/* Sharing an engine: fairness between processes, priorities; timestamps */
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "kselftest_harness.h"
#include "trainium_util.h"

#define JOB TRN_MIB(4)	/* so large that the engine is what is waited for */
#define BACKLOG 24		/* jobs of a client */
#define FILES 8
#define FILLERS (FILES * 64)

FIXTURE(sched) {
	int fd;
	unsigned int stacks, engines;
	struct trn_snapshot base;
};

FIXTURE_SETUP(sched)
{
	struct drm_trainium_query_device device;

	self->fd = trn_open(0);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, trn_device(self->fd, &device));
	self->stacks = device.num_stacks;
	self->engines = device.num_engines;
	ASSERT_EQ(0, trn_snapshot(self->fd, &self->base));
}

FIXTURE_TEARDOWN(sched)
{
	EXPECT_EQ(NULL, trn_settle(self->fd, &self->base, TRN_PATIENCE));
	close(self->fd);
}

static int new_queue(int fd, __u32 engines, __s32 priority, __u32 *queue)
{
	struct drm_trainium_queue_create create = {
		.num_engines = engines,
		.stack = 0,
		.priority = priority,
	};
	int ret = trn_ioctl(fd, DRM_IOCTL_TRAINIUM_QUEUE_CREATE, &create);

	*queue = create.queue;
	return ret;
}

struct filler {
	int fd;
	__u32 queue;
	int engine;
};

static int free_rings(int fd, unsigned int engines, __u32 *rings)
{
	struct drm_trainium_query_engine e;
	unsigned int i;

	for (i = 0; i < engines; i++) {
		if (trn_engine(fd, i, &e))
			return -1;
		rings[i] = e.stack || !(e.flags & TRAINIUM_ENGINE_HOST_ACCESS) ? 0 : e.rings_free;
	}
	return 0;
}

/*
 * Takes all rings near stack 0 but @leave, which are of one engine: whoever wants
 * to be there next shares it. The files of the fillers, or -1.
 */
static int fill_engines(struct _test_data_sched *self, unsigned int leave, int *files)
{
	static struct filler filler[FILLERS];
	static __u32 before[TRN_MAX_ENGINES], after[TRN_MAX_ENGINES];
	unsigned int n = 0, i, file = 0, used = 0, given = 0;

	memset(files, -1, FILES * sizeof(*files));
	files[0] = trn_open(0);
	for (;;) {
		struct filler *f = &filler[n];
		unsigned int left = 0;

		if (free_rings(self->fd, self->engines, before))
			return -1;
		for (i = 0; i < self->engines; i++)
			left += before[i];
		if (!left)
			break;
		if (used == 64) {
			if (++file == FILES)
				return -1;
			files[file] = trn_open(0);
			used = 0;
		}
		f->fd = files[file];
		f->engine = -1;
		if (n == FILLERS || new_queue(f->fd, 1, 0, &f->queue))
			return -1;
		used++;
		if (free_rings(self->fd, self->engines, after))
			return -1;
		for (i = 0; i < self->engines; i++)
			if (after[i] < before[i])
				f->engine = i;
		n++;
	}
	for (i = 0; i < n && given < leave; i++) {
		if (filler[i].engine != filler[0].engine || filler[0].engine < 0)
			continue;
		if (trn_queue_destroy(filler[i].fd, filler[i].queue))
			return -1;
		given++;
	}
	return given == leave ? filler[0].engine : -1;
}

struct client {
	__s32 priority;
	atomic_ullong done;
	/* Times that it found its queue empty: the engine did not wait for it. */
	atomic_ullong dry;
	atomic_int ready, failed;
};

/* Keeps its queue full of jobs, and says how many have ended. */
static void client(struct client *c, atomic_int *go)
{
	struct drm_trainium_query_queue q;
	struct drm_trainium_op op;
	struct drm_trainium_submit s;
	struct trn_bo a, b;
	int fd = trn_open(0);
	__u32 queue;

	if (fd < 0 || new_queue(fd, 1, c->priority, &queue) || trn_hbm_new(fd, 0, JOB, &a) ||
	    trn_hbm_new(fd, 0, JOB, &b) || trn_fill(fd, queue, a.handle, 0, JOB, 0x5a, 1)) {
		c->failed = 1;
		_exit(1);
	}
	op = trn_op_copy(b.handle, 0, a.handle, 0, JOB);
	c->ready = 1;
	while (!*go)
		trn_sleep(TRN_MSEC);
	for (;;) {
		s = trn_job(queue, &op, 1);
		if (trn_submit(fd, &s) || trn_queue(fd, queue, &q)) {
			c->failed = 1;
			_exit(2);
		}
		c->dry += q.completed == q.submitted;
		c->done = q.completed;
		/* As many as the ring holds: a job that is fed in parts leaves gaps. */
		while (q.submitted - q.completed >= BACKLOG) {
			trn_sleep(TRN_MSEC / 4);
			if (trn_queue(fd, queue, &q))
				_exit(3);
			c->dry += q.completed == q.submitted;
			c->done = q.completed;
		}
	}
}

/*
 * Jobs that each of two clients gets done on the same engine in the same time.
 * 1: one of them had none to do in between.
 */
static int race_once(struct _test_data_sched *self, __s32 first, __s32 second, __u64 *jobs)
{
	atomic_int *go = mmap(NULL, TRN_PAGE, PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct client *c = (struct client *)(go + 16);
	int files[FILES], ret = -1;
	pid_t pid[2];
	unsigned int i;
	__s64 end;
	__u64 dry;

	/* The rings of those before may still be on their way back. */
	memset(files, -1, sizeof(files));
	if (trn_settle(self->fd, &self->base, TRN_PATIENCE) || fill_engines(self, 2, files) < 0)
		goto out;
	c[0].priority = first;
	c[1].priority = second;
	for (i = 0; i < 2; i++) {
		pid[i] = trn_fork();
		if (!pid[i])
			client(&c[i], go);
	}
	end = trn_now() + TRN_PATIENCE;
	while (!(c[0].ready && c[1].ready) && !c[0].failed && !c[1].failed && trn_now() < end)
		trn_sleep(TRN_MSEC);
	*go = 1;
	/* Until both queues are full */
	trn_sleep(500 * TRN_MSEC);
	jobs[0] = c[0].done;
	jobs[1] = c[1].done;
	dry = c[0].dry + c[1].dry;
	trn_sleep(2 * TRN_SEC);
	jobs[0] = c[0].done - jobs[0];
	jobs[1] = c[1].done - jobs[1];
	ret = c[0].ready && c[1].ready && !c[0].failed && !c[1].failed ?
	      c[0].dry + c[1].dry != dry : -1;
	for (i = 0; i < 2; i++) {
		kill(pid[i], SIGKILL);
		trn_reap(pid[i], TRN_PATIENCE);
	}
out:
	for (i = 0; i < FILES; i++)
		if (files[i] >= 0)
			close(files[i]);
	munmap((void *)go, TRN_PAGE);
	return ret;
}

/* On a loaded machine again, until both had work all the time */
static int race(struct _test_data_sched *self, __s32 first, __s32 second, __u64 *jobs)
{
	unsigned int i;
	int ret = 1;

	for (i = 0; i < 8 && ret > 0; i++)
		ret = race_once(self, first, second, jobs);
	return ret < 0 ? ret : 0;
}

/* Equal clients get the same, within a tenth. */
TEST_F_TIMEOUT(sched, fairness, 120)
{
	static const __s32 priority[] = { 0, -1 };
	unsigned int i;
	__u64 jobs[2];

	for (i = 0; i < ARRAY_SIZE(priority); i++) {
		ASSERT_EQ(0, race(self, priority[i], priority[i], jobs));
		TH_LOG("priority %d: %llu and %llu jobs", priority[i], jobs[0], jobs[1]);
		EXPECT_LT(50, jobs[0]);
		EXPECT_GE(10 * jobs[0], 9 * jobs[1]);
		EXPECT_GE(10 * jobs[1], 9 * jobs[0]);
	}
}

/* Each level has four times the share of the one below. */
TEST_F_TIMEOUT(sched, priorities, 120)
{
	static const __s32 pair[][2] = { { 0, -1 }, { 1, 0 } };
	unsigned int i;
	__u64 jobs[2];

	for (i = 0; i < ARRAY_SIZE(pair); i++) {
		ASSERT_EQ(0, race(self, pair[i][0], pair[i][1], jobs));
		TH_LOG("priorities %d and %d: %llu and %llu jobs", pair[i][0], pair[i][1],
		       jobs[0], jobs[1]);
		/* Nobody starves. */
		EXPECT_LT(10, jobs[1]);
		EXPECT_LE(3 * jobs[1], jobs[0]);
		EXPECT_GE(6 * jobs[1], jobs[0]);
	}
}

static int high_as_user(void *arg)
{
	__u32 queue;
	int fd;

	if (trn_become_user())
		return 1;
	fd = open(arg, O_RDWR);
	if (fd < 0)
		return 2;
	if (new_queue(fd, 1, 1, &queue) != -EACCES)
		return 3;
	if (new_queue(fd, 1, 0, &queue) || new_queue(fd, 1, -1, &queue))
		return 4;
	return 0;
}

TEST_F(sched, bad_priorities)
{
	static const __s32 bad[] = { -2, 2, 100, 1 << 30, -(1 << 30) };
	char path[64];
	unsigned int i;
	__u32 queue;

	for (i = 0; i < ARRAY_SIZE(bad); i++)
		EXPECT_EQ(-EINVAL, new_queue(self->fd, 1, bad[i], &queue));
	EXPECT_EQ(0, new_queue(self->fd, 1, 1, &queue));
	EXPECT_EQ(0, trn_queue_destroy(self->fd, queue));
	ASSERT_EQ(0, trn_user_node(0, path, sizeof(path)));
	EXPECT_EQ(0, trn_in_child(high_as_user, path));
	unlink(path);
}

/* Twice the bytes take twice the modelled time, however long the guest takes. */
TEST_F(sched, timestamps)
{
	struct trn_bo host, a, b;
	struct drm_trainium_op ops[5];
	unsigned int i, k;
	__u64 *t, one, two;
	__u32 queue, single;

	if (!trn_has(self->fd, TRAINIUM_FEATURE_TIMESTAMP))
		SKIP(return, "no timestamps");
	ASSERT_EQ(0, new_queue(self->fd, 1, 0, &queue));
	ASSERT_EQ(0, trn_host_new(self->fd, TRN_PAGE, &host));
	ASSERT_EQ(0, trn_hbm_new(self->fd, 0, TRN_MIB(8), &a));
	ASSERT_EQ(0, trn_hbm_new(self->fd, 1, TRN_MIB(8), &b));
	t = (void *)host.map;
	for (i = 0; i < 3; i++) {
		ops[2 * i] = trn_op_copy(host.handle, 8 * i, 0, 0, 8);
		ops[2 * i].type = TRAINIUM_OP_TIMESTAMP;
		if (i < 2)
			ops[2 * i + 1] = trn_op_copy(b.handle, 0, a.handle, 0, TRN_KIB(256) << i);
	}
	for (k = 0; k < 10; k++) {
		__u64 last = t[2];

		/* What is between two timestamps starts after the first. */
		ops[1].flags = TRAINIUM_OP_F_BARRIER;
		ops[3].flags = TRAINIUM_OP_F_BARRIER;
		ASSERT_EQ(0, trn_run(self->fd, queue, ops, ARRAY_SIZE(ops)));
		ASSERT_LT(last, t[0]);
		ASSERT_LT(t[0], t[1]);
		ASSERT_LT(t[1], t[2]);
		one = t[1] - t[0];
		two = t[2] - t[1];
		EXPECT_LT(19 * one, 10 * two);
		EXPECT_GT(21 * one, 10 * two);
		EXPECT_EQ(0, t[3]);
	}
	/* Into HBM, and by a queue of more engines */
	single = queue;
	ASSERT_EQ(0, new_queue(self->fd, 4, 0, &queue));
	ops[0].dst = b.handle;
	ASSERT_EQ(0, trn_run(self->fd, queue, ops, 1));
	ops[1] = trn_op_copy(host.handle, 0, b.handle, 0, 16);
	memset(host.map, 0xff, 16);
	ASSERT_EQ(0, trn_run(self->fd, queue, &ops[1], 1));
	EXPECT_NE(~0ull, t[0]);
	EXPECT_EQ(0, t[1]);
	trn_queue_destroy(self->fd, queue);
	trn_queue_destroy(self->fd, single);
	trn_bo_put(self->fd, &host);
	trn_bo_put(self->fd, &a);
	trn_bo_put(self->fd, &b);
}

TEST_F(sched, bad_timestamps)
{
	struct drm_trainium_op good, op;
	struct trn_bo host;
	__u32 queue, user;
	void *page;

	ASSERT_EQ(0, new_queue(self->fd, 1, 0, &queue));
	ASSERT_EQ(0, trn_host_new(self->fd, TRN_PAGE, &host));
	good = trn_op_copy(host.handle, 8, 0, 0, 8);
	good.type = TRAINIUM_OP_TIMESTAMP;
	if (!trn_has(self->fd, TRAINIUM_FEATURE_TIMESTAMP)) {
		EXPECT_EQ(-EOPNOTSUPP, trn_run(self->fd, queue, &good, 1));
		trn_queue_destroy(self->fd, queue);
		trn_bo_put(self->fd, &host);
		return;
	}
#define TRY(field, value) ({ op = good; op.field = (value); trn_run(self->fd, queue, &op, 1); })
	EXPECT_EQ(0, TRY(flags, TRAINIUM_OP_F_BARRIER));
	EXPECT_EQ(-EINVAL, TRY(flags, 2));
	EXPECT_EQ(-EINVAL, TRY(size, 4));
	EXPECT_EQ(-EINVAL, TRY(size, 16));
	EXPECT_EQ(-EINVAL, TRY(dst_offset, 4));
	EXPECT_EQ(-EINVAL, TRY(dst_offset, TRN_PAGE));
	EXPECT_EQ(-EINVAL, TRY(dst_offset, ~7ull));
	EXPECT_EQ(-EINVAL, TRY(src, host.handle));
	EXPECT_EQ(-EINVAL, TRY(src_offset, 8));
	EXPECT_EQ(-ENOENT, TRY(dst, 9999));
	/* An address that is not aligned */
	page = mmap(NULL, TRN_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, page);
	ASSERT_EQ(0, trn_bo_userptr(self->fd, page + 4, 64, 0, &user));
	EXPECT_EQ(-EINVAL, TRY(dst, user));
	trn_close_handle(self->fd, user);
	trn_queue_destroy(self->fd, queue);
	trn_bo_put(self->fd, &host);
#undef TRY
}

TEST_HARNESS_MAIN
