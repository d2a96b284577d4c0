// SPDX-License-Identifier: GPL-2.0-only
/*
 * The ladder of recovery: for each rung a hang that only this rung ends. Who
 * caused it is told so, neighbours keep their data, every step is reported.
 */
#include <fcntl.h>
#include <pthread.h>

#include "kselftest_harness.h"
#include "trainium_fault_util.h"

#define SIZE TRN_KIB(64)

enum { QUEUE, ENGINE, CORE, DEVICE };

static const char * const rungs[] = { "queue", "engine", "core", "device" };
static const __u32 scopes[] = {
	TRAINIUM_RESET_QUEUE, TRAINIUM_RESET_ENGINE, TRAINIUM_RESET_CORE, TRAINIUM_RESET_DEVICE,
};

/* A client that copies and checks all the time */
struct neighbour {
	int fd;
	__u32 queue;
	struct trn_place place;
	pthread_t thread;
	bool stop;
	unsigned int rounds, canceled, failed, wrong;
	__s64 longest;
};

FIXTURE(ladder) {
	int fd, log, events, uevents;
	const char *bdf;
	__u32 queue;
	struct trn_place place;
	struct trn_bo host, hbm;
	__s64 timeout;
	/* on the engine, on its core, on another core */
	struct neighbour near, core, far;
};

static unsigned int core_of(int fd, unsigned int engine)
{
	struct drm_trainium_query_engine info = {};

	trn_engine(fd, engine, &info);
	return info.core;
}

/* A queue of one ring, and where that is */
static int placed_queue(const char *bdf, int fd, __u32 stack, __u32 *queue,
			struct trn_place *place)
{
	static struct trn_place before[4096];
	unsigned int n = trn_rings(bdf, before, ARRAY_SIZE(before));
	int ret = trn_queue_create(fd, stack, 1, queue);

	return ret ?: trn_new_ring(bdf, before, n, place);
}

/* Creates queues until one is where it is wanted. */
static int neighbour_open(struct neighbour *n, const char *bdf, __u32 stack,
			  bool (*wanted)(int fd, const struct trn_place *place,
					 const struct trn_place *than),
			  const struct trn_place *than)
{
	unsigned int i;
	int ret;

	n->fd = trn_open(0);
	for (i = 0; i < 64; i++) {
		ret = placed_queue(bdf, n->fd, stack, &n->queue, &n->place);
		if (ret || wanted(n->fd, &n->place, than))
			return ret;
	}
	return -ENOENT;
}

static bool same_engine(int fd, const struct trn_place *place, const struct trn_place *than)
{
	return place->engine == than->engine;
}

static bool same_core(int fd, const struct trn_place *place, const struct trn_place *than)
{
	return place->engine != than->engine &&
	       core_of(fd, place->engine) == core_of(fd, than->engine);
}

static bool other_core(int fd, const struct trn_place *place, const struct trn_place *than)
{
	return core_of(fd, place->engine) != core_of(fd, than->engine);
}

static void *neighbour_run(void *arg)
{
	struct neighbour *n = arg;
	struct trn_bo in, hbm, out;

	if (trn_host_new(n->fd, SIZE, &in) || trn_host_new(n->fd, SIZE, &out) ||
	    trn_hbm_new(n->fd, 1, SIZE, &hbm)) {
		n->failed++;
		return NULL;
	}
	while (!__atomic_load_n(&n->stop, __ATOMIC_RELAXED)) {
		__s64 start = trn_now(), took;
		int ret;

		trn_pattern(in.map, 0, SIZE, n->rounds);
		ret = trn_copy(n->fd, n->queue, hbm.handle, 0, in.handle, 0, SIZE) ?:
		      trn_copy(n->fd, n->queue, out.handle, 0, hbm.handle, 0, SIZE);
		took = trn_now() - start;
		if (took > n->longest)
			n->longest = took;
		if (ret == -ECANCELED)
			n->canceled++;
		else if (ret)
			n->failed++;
		else if (trn_check(out.map, 0, SIZE, n->rounds) != -1)
			n->wrong++;
		__atomic_fetch_add(&n->rounds, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

FIXTURE_SETUP(ladder)
{
	struct drm_trainium_query_limits limits;

	self->log = trn_log_open();
	self->bdf = trn_bdf(0);
	ASSERT_NE(NULL, self->bdf);
	if (!trn_can_fault(self->bdf))
		SKIP(return, "no fault window (fault-window=on, iomem=relaxed)");
	self->fd = trn_open(0);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, trn_limits(self->fd, &limits));
	self->timeout = limits.job_timeout_ns;
	self->events = trn_events_open(self->fd, 1 << TRAINIUM_EVENT_RESET |
				       1 << TRAINIUM_EVENT_FAULT);
	ASSERT_LE(0, self->events);
	self->uevents = trn_uevent_open();
	ASSERT_LE(0, self->uevents);
	ASSERT_EQ(0, trn_host_new(self->fd, SIZE, &self->host));
	ASSERT_EQ(0, trn_hbm_new(self->fd, 0, SIZE, &self->hbm));
	ASSERT_EQ(0, placed_queue(self->bdf, self->fd, 0, &self->queue, &self->place));
	ASSERT_EQ(0, neighbour_open(&self->near, self->bdf, 0, same_engine, &self->place));
	ASSERT_EQ(0, neighbour_open(&self->core, self->bdf, 0, same_core, &self->place));
	ASSERT_EQ(0, neighbour_open(&self->far, self->bdf, 2, other_core, &self->place));
	ASSERT_EQ(0, trn_fill(self->fd, self->queue, self->hbm.handle, 0, SIZE, 0, 1));
	trn_coredump_drop();
}

FIXTURE_TEARDOWN(ladder)
{
	char line[1024];

	trn_no_faults(self->bdf);
	/* All queues work, whatever happened. */
	trn_pattern(self->host.map, 0, SIZE, 5);
	EXPECT_EQ(0, trn_copy(self->fd, self->queue, self->hbm.handle, 0, self->host.handle, 0,
			      SIZE));
	memset(self->host.map, 0, SIZE);
	EXPECT_EQ(0, trn_copy(self->fd, self->queue, self->host.handle, 0, self->hbm.handle, 0,
			      SIZE));
	EXPECT_EQ(-1, trn_check(self->host.map, 0, SIZE, 5));
	trn_coredump_drop();
	close(self->near.fd);
	close(self->core.fd);
	close(self->far.fd);
	close(self->fd);
	EXPECT_FALSE(trn_log_fault(self->log, line, sizeof(line))) {
		TH_LOG("%s", line);
	}
	close(self->log);
}

static void neighbours_start(struct __test_metadata *_metadata, struct _test_data_ladder *self)
{
	struct neighbour *all[] = { &self->near, &self->core, &self->far };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(all); i++) {
		ASSERT_EQ(0, pthread_create(&all[i]->thread, NULL, neighbour_run, all[i]));
		while (__atomic_load_n(&all[i]->rounds, __ATOMIC_RELAXED) < 2)
			trn_sleep(TRN_MSEC);
	}
}

static void neighbours_stop(struct __test_metadata *_metadata, struct _test_data_ladder *self,
			    const char *what)
{
	struct neighbour *all[] = { &self->near, &self->core, &self->far };
	static const char * const names[] = { "same engine", "same core", "other core" };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(all); i++) {
		unsigned int rounds = __atomic_load_n(&all[i]->rounds, __ATOMIC_RELAXED);
		__s64 end = trn_now() + TRN_PATIENCE;

		/* It goes on. */
		while (__atomic_load_n(&all[i]->rounds, __ATOMIC_RELAXED) < rounds + 3 &&
		       trn_now() < end)
			trn_sleep(TRN_MSEC);
		EXPECT_LE(rounds + 3, all[i]->rounds) TH_LOG("%s is stuck", names[i]);
		__atomic_store_n(&all[i]->stop, true, __ATOMIC_RELAXED);
		ASSERT_EQ(0, pthread_join(all[i]->thread, NULL));
		EXPECT_EQ(0, all[i]->wrong) TH_LOG("wrong data, %s", names[i]);
		EXPECT_EQ(0, all[i]->failed) TH_LOG("errors, %s", names[i]);
		TH_LOG("%s: neighbour on %s: %u copies, %u canceled, longest %lld ms", what,
		       names[i], all[i]->rounds, all[i]->canceled,
		       (long long)(all[i]->longest / TRN_MSEC));
	}
}

/* The steps up to the one that helps, in order, each told once */
static void expect_steps(struct __test_metadata *_metadata, struct _test_data_ladder *self,
			 unsigned int last, bool abort)
{
	unsigned int step = 0, faults = 0, core = core_of(self->fd, self->place.engine);
	struct drm_trainium_event event;
	__u64 seqno = 0;

	while (step <= last && !trn_event_next(self->events, &event, TRN_PATIENCE)) {
		EXPECT_EQ(sizeof(event), event.size);
		EXPECT_LT(seqno, event.seqno);
		seqno = event.seqno;
		if (event.type == TRAINIUM_EVENT_FAULT) {
			faults++;
			EXPECT_EQ(0, step);
			EXPECT_EQ(self->place.engine, event.fault.engine);
			EXPECT_EQ(abort ? TRAINIUM_REASON_ABORT : TRAINIUM_REASON_TIMEOUT,
				  event.fault.reason);
			EXPECT_EQ(abort ? 1 << 8 : 0, event.fault.m2s_cause);
			EXPECT_EQ(0, event.fault.s2m_cause);
			continue;
		}
		EXPECT_EQ(scopes[step], event.reset.scope) TH_LOG("step %u", step);
		EXPECT_EQ(TRAINIUM_CAUSE_RECOVERY, event.reset.cause);
		EXPECT_EQ(step == last, !event.reset.error);
		EXPECT_EQ(step < CORE ? self->place.engine : step == CORE ? core : 0,
			  event.reset.index);
		TH_LOG("%s: %s reset: %s, %llu us", rungs[last], rungs[step],
		       event.reset.error ? "does not help" : "helps",
		       event.reset.duration_ns / 1000);
		step++;
	}
	EXPECT_EQ(last + 1, step);
	EXPECT_EQ(1, faults);
	/* And nothing after it */
	EXPECT_EQ(-ETIME, trn_event_next(self->events, &event, 0));
}

static void expect_dump(struct __test_metadata *_metadata, struct _test_data_ladder *self,
			const char *how)
{
	static char text[65536];
	char want[128];

	ASSERT_LT(0, trn_coredump(text, sizeof(text), 5 * TRN_SEC));
	snprintf(want, sizeof(want), "%s on engine %u queue pair %u", how, self->place.engine,
		 self->place.pair);
	EXPECT_NE(NULL, strstr(text, want)) TH_LOG("no \"%s\" in:\n%.800s", want, text);
	EXPECT_NE(NULL, strstr(text, trn_bdf(0)));
	EXPECT_NE(NULL, strstr(text, "m2s-state"));
	EXPECT_NE(NULL, strstr(text, "completion-head"));
	EXPECT_NE(NULL, strstr(text, "api-version"));
	/* The descriptor where it stands: a copy from the host to HBM stack 0 */
	EXPECT_NE(NULL, strstr(text, "\n> "));
	EXPECT_NE(NULL, strstr(text, "65536 bytes host+")) TH_LOG("%s", text);
	EXPECT_NE(NULL, strstr(text, "-> hbm0+"));
	EXPECT_NE(NULL, strstr(text, "-> done"));
}

static __u64 reset_count(int fd)
{
	struct drm_trainium_query_device device = {};

	trn_device(fd, &device);
	return device.reset_count;
}

static void climb(struct __test_metadata *_metadata, struct _test_data_ladder *self,
		  unsigned int rung)
{
	struct drm_trainium_op op = trn_op_copy(self->hbm.handle, 0, self->host.handle, 0, SIZE);
	__u64 resets = reset_count(self->fd);
	struct drm_trainium_query_queue q;
	char uevent[32];
	__s64 start;
	int ret;

	neighbours_start(_metadata, self);
	ASSERT_EQ(0, trn_faultf(self->bdf, "engine-stuck=%u.%u:%s", self->place.engine,
				self->place.pair, rungs[rung]));
	start = trn_now();
	ret = trn_run_for(self->fd, self->queue, &op, 1, self->timeout + 2 * TRN_PATIENCE);
	TH_LOG("%s: told after %lld ms, of which %lld are the timeout", rungs[rung],
	       (long long)((trn_now() - start) / TRN_MSEC), (long long)(self->timeout / TRN_MSEC));
	EXPECT_EQ(-EIO, ret);
	ASSERT_EQ(0, trn_queue(self->fd, self->queue, &q));
	EXPECT_EQ(TRAINIUM_REASON_TIMEOUT, q.reason);
	EXPECT_EQ(EIO, q.error);
	EXPECT_EQ(1, q.failed);
	EXPECT_EQ(self->place.engine, q.engine);

	expect_steps(_metadata, self, rung, false);
	snprintf(uevent, sizeof(uevent), "RESET=%s", rungs[rung]);
	EXPECT_TRUE(trn_uevent_find(self->uevents, uevent, "RESULT=0", TRN_PATIENCE));
	expect_dump(_metadata, self, "timed out");

	/* The next job runs, and the neighbours do. */
	EXPECT_EQ(0, trn_run(self->fd, self->queue, &op, 1));
	neighbours_stop(_metadata, self, rungs[rung]);
	EXPECT_EQ(resets + (rung == DEVICE), reset_count(self->fd));
	/* What each of them may have seen of it */
	if (rung < ENGINE)
		EXPECT_EQ(0, self->near.canceled);
	if (rung < CORE)
		EXPECT_EQ(0, self->core.canceled);
	if (rung < DEVICE)
		EXPECT_EQ(0, self->far.canceled);
}

TEST_F_TIMEOUT(ladder, queue, 60)
{
	climb(_metadata, self, QUEUE);
}

TEST_F_TIMEOUT(ladder, engine, 60)
{
	climb(_metadata, self, ENGINE);
}

TEST_F_TIMEOUT(ladder, core, 60)
{
	climb(_metadata, self, CORE);
}

TEST_F_TIMEOUT(ladder, device, 60)
{
	climb(_metadata, self, DEVICE);
}

static bool out_of_service(struct _test_data_ladder *self)
{
	struct drm_trainium_query_engine e;

	return !trn_engine(self->fd, self->place.engine, &e) &&
	       e.flags & TRAINIUM_ENGINE_OUT_OF_SERVICE;
}

static unsigned int rings_on(struct _test_data_ladder *self, unsigned int engine)
{
	static struct trn_place places[4096];
	unsigned int n = trn_rings(self->bdf, places, ARRAY_SIZE(places)), i, found = 0;

	for (i = 0; i < n; i++)
		found += places[i].engine == engine;
	return found;
}

/* Goes on until a reset of that scope is told of. */
static bool told_of(struct _test_data_ladder *self, __u32 scope, __u32 error)
{
	struct drm_trainium_event event;

	while (!trn_event_next(self->events, &event, TRN_PATIENCE))
		if (event.type == TRAINIUM_EVENT_RESET && event.reset.scope == scope &&
		    event.reset.error == error)
			return true;
	return false;
}

static int reset_device(struct _test_data_ladder *self)
{
	struct drm_trainium_reset args = { .scope = TRAINIUM_RESET_DEVICE };

	return trn_ioctl(self->fd, DRM_IOCTL_TRAINIUM_RESET, &args);
}

/*
 * No rung helps: the engine goes out of service, everybody's rings move to
 * others, and it comes back with the first device reset that finds it well.
 */
TEST_F_TIMEOUT(ladder, none, 60)
{
	struct drm_trainium_op op = trn_op_copy(self->hbm.handle, 0, self->host.handle, 0, SIZE);
	__u64 resets = reset_count(self->fd);
	struct drm_trainium_query_engine e;
	__u32 queue[16];
	unsigned int i;

	ASSERT_FALSE(out_of_service(self));
	neighbours_start(_metadata, self);
	ASSERT_EQ(0, trn_faultf(self->bdf, "engine-stuck=%u.%u:none", self->place.engine,
				self->place.pair));
	EXPECT_EQ(-EIO, trn_run_for(self->fd, self->queue, &op, 1,
				    self->timeout + 2 * TRN_PATIENCE));
	EXPECT_TRUE(told_of(self, TRAINIUM_RESET_CORE, EIO));
	EXPECT_TRUE(told_of(self, TRAINIUM_RESET_ENGINE, EIO));
	EXPECT_TRUE(told_of(self, TRAINIUM_RESET_DEVICE, 0));
	EXPECT_TRUE(out_of_service(self));
	ASSERT_EQ(0, trn_engine(self->fd, self->place.engine, &e));
	EXPECT_EQ(0, e.rings_free);

	/* Nobody uses it, nobody misses it, no more is reset. */
	for (i = 0; i < 20; i++)
		ASSERT_EQ(0, trn_run(self->fd, self->queue, &op, 1));
	neighbours_stop(_metadata, self, "none");
	for (i = 0; i < ARRAY_SIZE(queue); i++) {
		ASSERT_EQ(0, trn_queue_create(self->fd, 0, 1, &queue[i]));
		EXPECT_EQ(0, trn_run(self->fd, queue[i], &op, 1));
	}
	EXPECT_EQ(0, rings_on(self, self->place.engine));
	for (i = 0; i < ARRAY_SIZE(queue); i++)
		ASSERT_EQ(0, trn_queue_destroy(self->fd, queue[i]));
	EXPECT_EQ(resets + 1, reset_count(self->fd));

	/* A reset that does not help changes nothing, */
	ASSERT_EQ(0, reset_device(self));
	EXPECT_TRUE(out_of_service(self));
	EXPECT_EQ(0, trn_run(self->fd, self->queue, &op, 1));
	/* one that does brings it back. */
	trn_no_faults(self->bdf);
	ASSERT_EQ(0, reset_device(self));
	EXPECT_FALSE(out_of_service(self));
	EXPECT_TRUE(told_of(self, TRAINIUM_RESET_ENGINE, 0));
	ASSERT_EQ(0, trn_engine(self->fd, self->place.engine, &e));
	EXPECT_LT(0, e.rings_free);
}

/* The same without a free ring anywhere: the queue is refused, nobody else is. */
TEST_F_TIMEOUT(ladder, none_and_no_room, 100)
{
	struct drm_trainium_op op = trn_op_copy(self->hbm.handle, 0, self->host.handle, 0, SIZE);
	__u64 resets = reset_count(self->fd);
	int fd[32], ret = 0;
	unsigned int n, i;
	__u32 queue;

	for (n = 0; n < ARRAY_SIZE(fd) && ret != -ENOSPC; n++) {
		fd[n] = trn_open(0);
		ASSERT_LE(0, fd[n]);
		do
			ret = trn_queue_create(fd[n], TRAINIUM_STACK_ANY, 1, &queue);
		while (!ret);
	}
	ASSERT_EQ(-ENOSPC, ret);
	ASSERT_EQ(0, trn_faultf(self->bdf, "engine-stuck=%u.%u:none", self->place.engine,
				self->place.pair));
	EXPECT_EQ(-EIO, trn_run_for(self->fd, self->queue, &op, 1,
				    self->timeout + 2 * TRN_PATIENCE));
	EXPECT_TRUE(told_of(self, TRAINIUM_RESET_DEVICE, 0));
	EXPECT_TRUE(out_of_service(self));
	for (i = 0; i < 5; i++) {
		EXPECT_EQ(-EIO, trn_run(self->fd, self->queue, &op, 1));
		EXPECT_EQ(0, trn_run(self->core.fd, self->core.queue, NULL, 0));
	}
	EXPECT_EQ(resets + 1, reset_count(self->fd));
	while (n--)
		close(fd[n]);
	trn_no_faults(self->bdf);
	ASSERT_EQ(0, reset_device(self));
	EXPECT_EQ(0, trn_run(self->fd, self->queue, &op, 1));
}

/* D17: an abort on descriptor k of n; the first rung is enough. */
TEST_F_TIMEOUT(ladder, abort, 60)
{
	struct drm_trainium_query_queue q;
	struct drm_trainium_op ops[8];
	unsigned int i, k;

	for (i = 0; i < ARRAY_SIZE(ops); i++)
		ops[i] = trn_op_copy(self->hbm.handle, 0, self->host.handle, 0, SIZE);
	neighbours_start(_metadata, self);
	for (k = 1; k <= ARRAY_SIZE(ops); k += 3) {
		__s64 start = trn_now();

		ASSERT_EQ(0, trn_faultf(self->bdf, "dma-abort=%u.%u:%u", self->place.engine,
					self->place.pair, k));
		EXPECT_EQ(-EIO, trn_run(self->fd, self->queue, ops, ARRAY_SIZE(ops)));
		TH_LOG("abort on descriptor %u: told after %lld us", k,
		       (long long)((trn_now() - start) / 1000));
		ASSERT_EQ(0, trn_queue(self->fd, self->queue, &q));
		EXPECT_EQ(TRAINIUM_REASON_ABORT, q.reason);
		EXPECT_EQ(1u << 8, q.cause);
		expect_steps(_metadata, self, QUEUE, true);
		expect_dump(_metadata, self, "aborted");
		EXPECT_EQ(0, trn_run(self->fd, self->queue, ops, ARRAY_SIZE(ops)));
	}
	neighbours_stop(_metadata, self, "abort");
	EXPECT_EQ(0, self->near.canceled);
	EXPECT_EQ(0, self->core.canceled);
	EXPECT_EQ(0, self->far.canceled);
}

/* The whole engine hangs: rings of both are started anew, one job fails. */
TEST_F_TIMEOUT(ladder, whole_engine, 60)
{
	struct drm_trainium_op op = trn_op_copy(self->hbm.handle, 0, self->host.handle, 0, SIZE);

	ASSERT_EQ(0, trn_faultf(self->bdf, "engine-stuck=%u:engine", self->place.engine));
	EXPECT_EQ(-EIO, trn_run_for(self->fd, self->queue, &op, 1, TRN_PATIENCE));
	expect_steps(_metadata, self, ENGINE, false);
	EXPECT_EQ(0, trn_run(self->near.fd, self->near.queue, NULL, 0));
}

/* Again and again, with nothing lost on the way */
TEST_F_TIMEOUT(ladder, abort_loop, 110)
{
	struct drm_trainium_op op = trn_op_copy(self->hbm.handle, 0, self->host.handle, 0, SIZE);
	struct drm_trainium_query_queue q;
	struct trn_snapshot base;
	unsigned int i;

	ASSERT_EQ(0, trn_snapshot(self->fd, &base));
	for (i = 1; i <= 200; i++) {
		ASSERT_EQ(0, trn_faultf(self->bdf, "dma-abort=%u.%u:1", self->place.engine,
					self->place.pair));
		ASSERT_EQ(-EIO, trn_run(self->fd, self->queue, &op, 1)) TH_LOG("round %u", i);
		ASSERT_EQ(0, trn_run(self->fd, self->queue, &op, 1)) TH_LOG("round %u", i);
	}
	ASSERT_EQ(0, trn_queue(self->fd, self->queue, &q));
	EXPECT_EQ(200, q.failed);
	EXPECT_EQ(NULL, trn_settle(self->fd, &base, 2 * TRN_SEC));
}

TEST_HARNESS_MAIN
