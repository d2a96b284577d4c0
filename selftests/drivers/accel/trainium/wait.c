// SPDX-License-Identifier: GPL-2.0-only
/* How a submit waits: by looking or asleep, as what it waits for is short or long */
#include "kselftest_harness.h"
#include "trainium_util.h"

#define LOOK_NS 50000ull		/* what is expected to take longer is slept for */
#define SMALL 4096
#define LARGE TRN_MIB(64)

FIXTURE(wait) {
	int fd;
	__u32 queue;
	struct trn_bo a, b;
};

FIXTURE_SETUP(wait)
{
	self->fd = trn_open(0);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, trn_hbm_new(self->fd, 0, LARGE, &self->a));
	ASSERT_EQ(0, trn_hbm_new(self->fd, 0, LARGE, &self->b));
	ASSERT_EQ(0, trn_queue_create(self->fd, 0, 1, &self->queue));
	/* The model knows pages that were never written, and is done with them at once. */
	ASSERT_EQ(0, trn_fill(self->fd, self->queue, self->a.handle, 0, LARGE, 0x5a, 1));
	if (trn_trace("trn_wait", true))
		SKIP(return, "no tracing");
	trn_trace("trn_doorbell", true);
	trn_trace("trn_irq", true);
	trn_trace_clear();
}

FIXTURE_TEARDOWN(wait)
{
	trn_trace("trn_wait", false);
	trn_trace("trn_doorbell", false);
	trn_trace("trn_irq", false);
	close(self->fd);
}

struct waits {
	unsigned int looked, slept, wrong;
	unsigned long long expect;
};

static void count_wait(const char *line, void *arg)
{
	unsigned long long expect;
	struct waits *w = arg;
	const char *at;
	int slept;

	if (!strstr(line, "trn_wait:"))
		return;
	at = strstr(line, "expected");
	if (!at || sscanf(at, "expected %llu ns slept %d", &expect, &slept) != 2) {
		w->wrong++;
		return;
	}
	/* One that looked may have slept in the end, if that was not enough. */
	w->wrong += expect > LOOK_NS && !slept;
	w->looked += !slept;
	w->slept += slept;
	w->expect = expect;
}

static struct waits waits(void)
{
	struct waits w = { 0 };

	trn_trace_each(count_wait, &w);
	return w;
}

static int copy(struct _test_data_wait *self, __u64 size)
{
	return trn_copy(self->fd, self->queue, self->b.handle, 0, self->a.handle, 0, size);
}

/* Long ones: one doorbell, one interrupt at the most, and the waiter sleeps at once */
TEST_F(wait, long_ones_sleep)
{
	unsigned int i, rounds = 10;
	struct waits w;

	for (i = 0; i < rounds; i++)
		ASSERT_EQ(0, copy(self, LARGE));
	trn_sleep(10 * TRN_MSEC);
	w = waits();
	EXPECT_EQ(0, w.wrong);
	EXPECT_EQ(0, w.looked);
	/* Some may have ended before their waiter came to it. */
	EXPECT_LT(0, w.slept);
	EXPECT_LT(LOOK_NS, w.expect);
	EXPECT_EQ(rounds, trn_traced("trn_doorbell:", ""));
	EXPECT_GE(rounds, trn_traced("trn_irq:", ""));
	if (trn_has(self->fd, TRAINIUM_FEATURE_IRQ))
		EXPECT_LT(0, trn_traced("trn_irq:", ""));
}

/* Short ones do not interrupt when they end as expected: they are looked at, if at all. */
TEST_F(wait, short_ones_look)
{
	unsigned int i, rounds = 500, extra;
	struct waits w;

	for (i = 0; i < rounds; i++)
		ASSERT_EQ(0, copy(self, SMALL));
	trn_sleep(10 * TRN_MSEC);
	w = waits();
	EXPECT_EQ(0, w.wrong);
	/* Whoever sleeps in the end asks for an interrupt by a doorbell. */
	extra = trn_traced("trn_doorbell:", "") - rounds;
	EXPECT_GE(w.slept, extra);
	EXPECT_GE(w.slept, trn_traced("trn_irq:", ""));
	EXPECT_GT(rounds / 2, w.slept);
}

/*
 * A queue learns: what is too large to have ended when the doorbell returns is
 * done by looking as long as it is short, and asleep when it is not.
 */
TEST_F(wait, follows_what_it_sees)
{
	static const __u64 sizes[] = { 128 << 10, 256 << 10, TRN_MIB(1), TRN_MIB(4) };
	unsigned int i, k, doorbells;
	struct waits w;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		trn_trace_clear();
		for (k = 0; k < 50; k++)
			ASSERT_EQ(0, copy(self, sizes[i]));
		w = waits();
		EXPECT_EQ(0, w.wrong);
		doorbells = trn_traced("trn_doorbell:", "");
		/* One a job, and one for each that was looked at too long. */
		EXPECT_LE(50, doorbells);
		EXPECT_GE(50 + w.slept, doorbells);
		TH_LOG("%llu KiB: looked at %u, slept for %u, %u doorbells, %llu ns expected",
		       sizes[i] >> 10, w.looked, w.slept, doorbells, w.expect);
	}
}

TEST_HARNESS_MAIN
