// SPDX-License-Identifier: GPL-2.0-only
/* Subscriptions to events: arguments, records, overflow, end of the device */
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

#include "kselftest_harness.h"
#include "trainium_util.h"

static const __u64 RESET = 1ull << TRAINIUM_EVENT_RESET;
static const __u64 GONE = 1ull << TRAINIUM_EVENT_GONE;

FIXTURE(events) {
	int fd;
	int log;
	char bdf[32];
	struct drm_trainium_query_device device;
};

FIXTURE_SETUP(events)
{
	self->log = trn_log_open();
	ASSERT_NE(NULL, trn_bdf(0));
	snprintf(self->bdf, sizeof(self->bdf), "%s", trn_bdf(0));
	self->fd = trn_open_again(self->bdf);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, trn_device(self->fd, &self->device));
	ASSERT_NE(0, self->device.features & TRAINIUM_FEATURE_EVENTS);
}

FIXTURE_TEARDOWN(events)
{
	char line[1024];

	close(self->fd);
	close(trn_open_again(self->bdf));
	EXPECT_FALSE(trn_log_fault(self->log, line, sizeof(line))) {
		TH_LOG("%s", line);
	}
	close(self->log);
}

static struct drm_trainium_events plain(__u64 types)
{
	return (struct drm_trainium_events) {
		.types = types,
		.flags = TRAINIUM_EVENTS_NONBLOCK,
		.record_size = sizeof(struct drm_trainium_event),
	};
}

/* Descriptor, or a negative errno */
static int subscribe_as(int fd, struct drm_trainium_events args)
{
	int ret = trn_ioctl(fd, DRM_IOCTL_TRAINIUM_EVENTS, &args);

	return ret ?: args.fd;
}

static int subscribe(int fd, __u64 types)
{
	return subscribe_as(fd, plain(types));
}

static int reset(int fd, __u32 scope, __u32 index)
{
	struct drm_trainium_reset args = { .scope = scope, .index = index };

	return trn_ioctl(fd, DRM_IOCTL_TRAINIUM_RESET, &args);
}

/* Bytes read, or a negative errno */
static int next(int sub, struct drm_trainium_event *event)
{
	int ret;

	memset(event, 0xee, sizeof(*event));
	ret = read(sub, event, sizeof(*event));
	return ret < 0 ? -errno : ret;
}

static int ready(int sub)
{
	struct pollfd p = { .fd = sub, .events = POLLIN };

	return poll(&p, 1, 0) < 0 ? -errno : p.revents;
}

TEST_F(events, arguments)
{
	struct drm_trainium_events args;
	unsigned int i;
	const struct {
		__u64 types;
		__u32 flags, record_size, capacity;
		__s32 fd;
	} bad[] = {
		{ 0, 0, 64, 0, 0 },
		{ 1ull << 63, 0, 64, 0, 0 },
		{ RESET | ~self->device.event_types, 0, 64, 0, 0 },
		{ RESET, 2, 64, 0, 0 },
		{ RESET, ~0u, 64, 0, 0 },
		{ RESET, 0, 0, 0, 0 },
		{ RESET, 0, 56, 0, 0 },
		{ RESET, 0, 68, 0, 0 },
		{ RESET, 0, 1032, 0, 0 },
		{ RESET, 0, ~7u, 0, 0 },
		{ RESET, 0, 64, 4097, 0 },
		{ RESET, 0, 64, ~0u, 0 },
		{ RESET, 0, 64, 0, 1 },
	};

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		args = (struct drm_trainium_events) {
			.types = bad[i].types, .flags = bad[i].flags,
			.record_size = bad[i].record_size, .capacity = bad[i].capacity,
			.fd = bad[i].fd,
		};
		EXPECT_EQ(-EINVAL, subscribe_as(self->fd, args)) TH_LOG("number %u", i);
	}
	args = plain(self->device.event_types);
	args.record_size = 1024;
	args.capacity = 4096;
	EXPECT_LE(0, subscribe_as(self->fd, args));
	args.capacity = 33;
	EXPECT_EQ(0, trn_ioctl(self->fd, DRM_IOCTL_TRAINIUM_EVENTS, &args));
	EXPECT_EQ(64, args.capacity);
}

TEST_F(events, descriptor)
{
	int sub = subscribe(self->fd, RESET);
	char byte = 0;

	ASSERT_LE(0, sub);
	EXPECT_EQ(FD_CLOEXEC, fcntl(sub, F_GETFD));
	EXPECT_EQ(O_NONBLOCK, fcntl(sub, F_GETFL) & O_NONBLOCK);
	EXPECT_EQ(O_RDONLY, fcntl(sub, F_GETFL) & O_ACCMODE);
	EXPECT_EQ(-1, write(sub, &byte, 1));
	EXPECT_EQ(EBADF, errno);
	/* It is no device. */
	EXPECT_GT(0, trn_device(sub, &self->device));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, TRN_PAGE, PROT_READ, MAP_SHARED, sub, 0));
}

TEST_F(events, nothing_yet)
{
	int sub = subscribe(self->fd, RESET | GONE);
	struct drm_trainium_event event;

	ASSERT_LE(0, sub);
	EXPECT_EQ(0, ready(sub));
	EXPECT_EQ(-EAGAIN, next(sub, &event));
	EXPECT_EQ(-1, read(sub, &event, sizeof(event) - 1));
	EXPECT_EQ(EINVAL, errno);
}

TEST_F(events, device_reset)
{
	int other = trn_open(0), a, b, late;
	struct drm_trainium_event x, y;
	__s64 begin = trn_now();

	ASSERT_LE(0, other);
	a = subscribe(self->fd, self->device.event_types);
	b = subscribe(other, RESET);
	ASSERT_LE(0, a);
	ASSERT_LE(0, b);
	ASSERT_EQ(0, reset(self->fd, TRAINIUM_RESET_DEVICE, 0));
	late = subscribe(self->fd, RESET);
	ASSERT_LE(0, late);
	ASSERT_EQ(0, trn_device(self->fd, &self->device));

	EXPECT_EQ(POLLIN, ready(a));
	ASSERT_EQ(sizeof(x), next(a, &x));
	EXPECT_EQ(64, x.size);
	EXPECT_EQ(TRAINIUM_EVENT_RESET, x.type);
	EXPECT_NE(0, x.seqno);
	EXPECT_EQ(0, x.lost);
	EXPECT_LE(begin, x.time_ns);
	EXPECT_GE(trn_now(), x.time_ns);
	EXPECT_EQ(TRAINIUM_RESET_DEVICE, x.reset.scope);
	EXPECT_EQ(0, x.reset.index);
	EXPECT_EQ(TRAINIUM_CAUSE_ASKED, x.reset.cause);
	EXPECT_EQ(0, x.reset.error);
	EXPECT_LT(0, x.reset.duration_ns);
	EXPECT_GE(x.time_ns - begin, x.reset.duration_ns);
	EXPECT_EQ(self->device.reset_count, x.reset.reset_count);

	/* The other one was told the same, and the late one was not. */
	ASSERT_EQ(sizeof(y), next(b, &y));
	EXPECT_EQ(0, memcmp(&x, &y, sizeof(x)));
	EXPECT_EQ(0, ready(a));
	EXPECT_EQ(-EAGAIN, next(late, &y));
	close(other);
}

TEST_F(events, core_reset)
{
	__u32 core = self->device.num_cores - 1;
	struct drm_trainium_event event;
	int sub = subscribe(self->fd, RESET);

	ASSERT_LE(0, sub);
	ASSERT_EQ(0, reset(self->fd, TRAINIUM_RESET_CORE, core));
	ASSERT_EQ(sizeof(event), next(sub, &event));
	EXPECT_EQ(TRAINIUM_RESET_CORE, event.reset.scope);
	EXPECT_EQ(core, event.reset.index);
	EXPECT_EQ(0, event.reset.error);
	EXPECT_EQ(self->device.reset_count, event.reset.reset_count);
}

/* One that only wants to know of the end */
TEST_F(events, filter)
{
	struct drm_trainium_event event;
	int sub = subscribe(self->fd, GONE);

	ASSERT_LE(0, sub);
	ASSERT_EQ(0, reset(self->fd, TRAINIUM_RESET_CORE, 0));
	EXPECT_EQ(0, ready(sub));
	EXPECT_EQ(-EAGAIN, next(sub, &event));
}

TEST_F(events, overflow)
{
	struct drm_trainium_events args = plain(RESET);
	struct drm_trainium_event event[4];
	unsigned int i;
	int sub;

	args.capacity = 2;
	sub = subscribe_as(self->fd, args);
	ASSERT_LE(0, sub);
	for (i = 0; i < 5; i++)
		ASSERT_EQ(0, reset(self->fd, TRAINIUM_RESET_CORE, i));
	/* The newest two, and that three are missing */
	ASSERT_EQ(2 * sizeof(event[0]), read(sub, event, sizeof(event)));
	EXPECT_EQ(3, event[0].lost);
	EXPECT_EQ(3, event[0].reset.index);
	EXPECT_EQ(0, event[1].lost);
	EXPECT_EQ(4, event[1].reset.index);
	EXPECT_EQ(event[0].seqno + 1, event[1].seqno);
	/* That is told once. */
	ASSERT_EQ(0, reset(self->fd, TRAINIUM_RESET_CORE, 0));
	ASSERT_EQ(sizeof(event[0]), next(sub, event));
	EXPECT_EQ(0, event[0].lost);
	EXPECT_EQ(event[1].seqno + 1, event[0].seqno);
}

/* Records as long as the reader wants them, whole ones only */
TEST_F(events, record_size)
{
	struct drm_trainium_events args = plain(RESET);
	__u8 buf[1024 * 3];
	struct drm_trainium_event *event = (void *)buf;
	unsigned int i;
	int sub;

	args.record_size = 1024;
	sub = subscribe_as(self->fd, args);
	ASSERT_LE(0, sub);
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, reset(self->fd, TRAINIUM_RESET_CORE, i));
	memset(buf, 0xee, sizeof(buf));
	ASSERT_EQ(2048, read(sub, buf, sizeof(buf) - 1));
	EXPECT_EQ(64, event->size);
	EXPECT_EQ(0, event->reset.index);
	EXPECT_EQ(-1, trn_check_byte(buf + 64, 1024 - 64, 0));
	event = (void *)(buf + 1024);
	EXPECT_EQ(1, event->reset.index);
	EXPECT_EQ(-1, trn_check_byte(buf + 2048, 1024, 0xee));
	event = (void *)buf;
	ASSERT_EQ(1024, read(sub, buf, sizeof(buf)));
	EXPECT_EQ(2, event->reset.index);
}

/* What cannot be given to the reader counts as lost. */
TEST_F(events, bad_address)
{
	int sub = subscribe(self->fd, RESET);
	struct drm_trainium_event event;
	void *none = mmap(NULL, TRN_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ASSERT_LE(0, sub);
	ASSERT_NE(MAP_FAILED, none);
	ASSERT_EQ(0, reset(self->fd, TRAINIUM_RESET_CORE, 0));
	ASSERT_EQ(0, reset(self->fd, TRAINIUM_RESET_CORE, 1));
	EXPECT_EQ(-1, read(sub, none, sizeof(event)));
	EXPECT_EQ(EFAULT, errno);
	ASSERT_EQ(sizeof(event), next(sub, &event));
	EXPECT_EQ(1, event.reset.index);
	EXPECT_EQ(1, event.lost);
}

static void on_alarm(int sig)
{
}

TEST_F(events, blocking)
{
	struct drm_trainium_events args = plain(RESET);
	struct sigaction sa = { .sa_handler = on_alarm };
	struct drm_trainium_event event;
	pid_t pid;
	int sub;

	args.flags = 0;
	sub = subscribe_as(self->fd, args);
	ASSERT_LE(0, sub);
	/* A signal ends it, with nothing lost; */
	sigaction(SIGALRM, &sa, NULL);
	ualarm(50000, 0);
	EXPECT_EQ(-EINTR, next(sub, &event));
	/* an event does too. */
	pid = trn_fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		trn_sleep(50 * TRN_MSEC);
		_exit(reset(self->fd, TRAINIUM_RESET_CORE, 3) ? 1 : 0);
	}
	alarm(20);
	EXPECT_EQ(sizeof(event), next(sub, &event));
	alarm(0);
	EXPECT_EQ(3, event.reset.index);
	EXPECT_EQ(0, trn_reap(pid, TRN_PATIENCE));
}

TEST_F(events, limit)
{
	int sub[17], other, i;

	for (i = 0; i < 16; i++) {
		sub[i] = subscribe(self->fd, RESET);
		ASSERT_LE(0, sub[i]);
	}
	EXPECT_EQ(-EDQUOT, subscribe(self->fd, RESET));
	other = trn_open(0);
	ASSERT_LE(0, other);
	EXPECT_LE(0, subscribe(other, RESET));
	close(sub[7]);
	sub[7] = subscribe(self->fd, RESET);
	EXPECT_LE(0, sub[7]);
	EXPECT_EQ(-EDQUOT, subscribe(self->fd, RESET));
	for (i = 0; i < 16; i++)
		close(sub[i]);
	sub[0] = subscribe(self->fd, RESET);
	EXPECT_LE(0, sub[0]);
}

/* It does not need the file that it came from. */
TEST_F(events, lives_on)
{
	int other = trn_open(0), sub = subscribe(other, RESET);
	struct drm_trainium_event event;

	ASSERT_LE(0, sub);
	close(other);
	ASSERT_EQ(0, reset(self->fd, TRAINIUM_RESET_CORE, 2));
	ASSERT_EQ(sizeof(event), next(sub, &event));
	EXPECT_EQ(2, event.reset.index);
}

static int subscribe_as_user(void *path)
{
	int fd, sub;

	if (trn_become_user())
		return 1;
	fd = open(path, O_RDWR);
	if (fd < 0)
		return 2;
	sub = subscribe(fd, RESET | GONE);
	return sub < 0 ? 3 : ready(sub) ? 4 : 0;
}

TEST_F(events, as_user)
{
	char path[PATH_MAX];

	ASSERT_EQ(0, trn_user_node(0, path, sizeof(path)));
	EXPECT_EQ(0, trn_in_child(subscribe_as_user, path));
	unlink(path);
}

static void *read_to_the_end(void *arg)
{
	struct drm_trainium_event event;
	int sub = *(int *)arg, ret;

	do {
		ret = next(sub, &event);
	} while (ret > 0);
	return (void *)(long)ret;
}

/* Unbound: the last record, then an error; whoever waits is woken. */
TEST_F(events, unplugged)
{
	struct drm_trainium_events args = plain(GONE);
	struct drm_trainium_event event;
	int sub, waiting;
	pthread_t thread;
	void *ret;

	args.flags = 0;
	waiting = subscribe_as(self->fd, args);
	sub = subscribe(self->fd, RESET | GONE);
	ASSERT_LE(0, waiting);
	ASSERT_LE(0, sub);
	ASSERT_EQ(0, pthread_create(&thread, NULL, read_to_the_end, &waiting));
	trn_sleep(50 * TRN_MSEC);
	ASSERT_EQ(0, trn_write_file("/sys/bus/pci/drivers/trainium/unbind", self->bdf));
	ASSERT_EQ(0, pthread_join(thread, &ret));
	EXPECT_EQ(-ENODEV, (long)ret);

	EXPECT_EQ(POLLIN | POLLHUP | POLLERR, ready(sub));
	ASSERT_EQ(sizeof(event), next(sub, &event));
	EXPECT_EQ(TRAINIUM_EVENT_GONE, event.type);
	EXPECT_EQ(POLLHUP | POLLERR, ready(sub));
	EXPECT_EQ(-ENODEV, next(sub, &event));
	EXPECT_EQ(-ENODEV, subscribe(self->fd, RESET));
	/* They outlive the device and the file. */
	close(self->fd);
	self->fd = trn_open_again(self->bdf);
	ASSERT_LE(0, self->fd);
	EXPECT_EQ(-ENODEV, next(sub, &event));
	close(sub);
	close(waiting);
}

struct race {
	int fd;
	int stop;
};

static void *churn(void *arg)
{
	struct race *race = arg;

	while (!__atomic_load_n(&race->stop, __ATOMIC_RELAXED)) {
		int sub = subscribe(race->fd, RESET);
		struct drm_trainium_event event;

		next(sub, &event);
		close(sub);
	}
	return NULL;
}

/* Events come while others subscribe, read and leave. */
TEST_F(events, churn)
{
	struct race race = { .fd = self->fd };
	struct drm_trainium_event event;
	int sub = subscribe(self->fd, RESET);
	pthread_t thread[2];
	unsigned int i;
	__u64 seqno = 0;

	ASSERT_LE(0, sub);
	for (i = 0; i < ARRAY_SIZE(thread); i++)
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, churn, &race));
	for (i = 0; i < 10; i++)
		EXPECT_EQ(0, reset(self->fd, TRAINIUM_RESET_CORE, i % 8));
	__atomic_store_n(&race.stop, 1, __ATOMIC_RELAXED);
	for (i = 0; i < ARRAY_SIZE(thread); i++)
		pthread_join(thread[i], NULL);
	for (i = 0; i < 10; i++) {
		ASSERT_EQ(sizeof(event), next(sub, &event));
		EXPECT_EQ(i % 8, event.reset.index);
		EXPECT_TRUE(!seqno || event.seqno == seqno + 1);
		seqno = event.seqno;
	}
	EXPECT_EQ(-EAGAIN, next(sub, &event));
}

TEST_HARNESS_MAIN
