// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every ioctl of the DRM core on an accel node. Some of them assume a primary
 * node and would crash a driver that does not stop them.
 */
#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>

#include "kselftest_harness.h"
#include "trainium_util.h"

FIXTURE(drmcore) {
	int fd;
	int log;
	char node[64];
};

FIXTURE_VARIANT(drmcore) {
	bool user;
};

FIXTURE_VARIANT_ADD(drmcore, root) {
	.user = false,
};

FIXTURE_VARIANT_ADD(drmcore, user) {
	.user = true,
};

FIXTURE_SETUP(drmcore)
{
	self->log = trn_log_open();
	ASSERT_LE(0, self->log);
	ASSERT_EQ(0, trn_user_node(0, self->node, sizeof(self->node)));
	if (variant->user)
		ASSERT_EQ(0, trn_become_user());
	self->fd = open(self->node, O_RDWR);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(drmcore)
{
	char line[1024];

	close(self->fd);
	EXPECT_FALSE(trn_log_fault(self->log, line, sizeof(line))) {
		TH_LOG("%s", line);
	}
	close(self->log);
}

TEST_F(drmcore, version)
{
	char name[32] = {}, date[32] = {}, desc[64] = {};
	struct drm_version v = {
		.name = name, .name_len = sizeof(name) - 1,
		.date = date, .date_len = sizeof(date) - 1,
		.desc = desc, .desc_len = sizeof(desc) - 1,
	};

	ASSERT_EQ(0, trn_ioctl(self->fd, DRM_IOCTL_VERSION, &v));
	EXPECT_STREQ("trainium", name);
	EXPECT_LT(0, strlen(desc));
	EXPECT_EQ(TRAINIUM_UAPI_MAJOR, v.version_major);
	EXPECT_LE(TRAINIUM_UAPI_MINOR, v.version_minor);
	/* Lengths only, and buffers that are not there */
	memset(&v, 0, sizeof(v));
	ASSERT_EQ(0, trn_ioctl(self->fd, DRM_IOCTL_VERSION, &v));
	EXPECT_EQ(strlen("trainium"), v.name_len);
	v.name = (char *)8;
	EXPECT_EQ(-EFAULT, trn_ioctl(self->fd, DRM_IOCTL_VERSION, &v));
}

TEST_F(drmcore, capabilities)
{
	static const struct {
		__u64 cap;
		__u64 value;
	} caps[] = {
		{ DRM_CAP_TIMESTAMP_MONOTONIC, 1 },
		{ DRM_CAP_PRIME, DRM_PRIME_CAP_IMPORT | DRM_PRIME_CAP_EXPORT },
		{ DRM_CAP_SYNCOBJ, 1 },
		{ DRM_CAP_SYNCOBJ_TIMELINE, 1 },
	};
	struct drm_set_client_cap set = {};
	struct drm_get_cap get;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(caps); i++) {
		get = (struct drm_get_cap){ .capability = caps[i].cap };
		ASSERT_EQ(0, trn_ioctl(self->fd, DRM_IOCTL_GET_CAP, &get));
		EXPECT_EQ(caps[i].value, get.value) TH_LOG("capability %llu", caps[i].cap);
	}
	/* No display, whatever the number */
	for (i = 0; i < 256; i++) {
		get = (struct drm_get_cap){ .capability = i };
		trn_ioctl(self->fd, DRM_IOCTL_GET_CAP, &get);
		set.capability = i;
		set.value = 1;
		EXPECT_GT(0, trn_ioctl(self->fd, DRM_IOCTL_SET_CLIENT_CAP, &set));
	}
	get = (struct drm_get_cap){ .capability = DRM_CAP_DUMB_BUFFER };
	EXPECT_GT(0, trn_ioctl(self->fd, DRM_IOCTL_GET_CAP, &get));
}

/* These three crash an accel driver that passes everything on. */
TEST_F(drmcore, get_unique)
{
	char text[64] = {};
	struct drm_unique u = { .unique = text, .unique_len = sizeof(text) };

	EXPECT_EQ(-EOPNOTSUPP, trn_ioctl(self->fd, DRM_IOCTL_GET_UNIQUE, &u));
	u.unique = NULL;
	u.unique_len = 0;
	EXPECT_EQ(-EOPNOTSUPP, trn_ioctl(self->fd, DRM_IOCTL_GET_UNIQUE, &u));
	/* The number counts, not size and direction. */
	EXPECT_EQ(-EOPNOTSUPP, trn_ioctl(self->fd, DRM_IO(0x01), &u));
	EXPECT_EQ(-EOPNOTSUPP, trn_ioctl(self->fd, DRM_IOW(0x01, int), &u));
	EXPECT_EQ(-EOPNOTSUPP, trn_ioctl(self->fd, DRM_IOWR(0x01, text), text));
}

TEST_F(drmcore, get_magic)
{
	struct drm_auth auth = {};
	__u64 large[8] = {};

	EXPECT_EQ(-EOPNOTSUPP, trn_ioctl(self->fd, DRM_IOCTL_GET_MAGIC, &auth));
	EXPECT_EQ(-EOPNOTSUPP, trn_ioctl(self->fd, DRM_IO(0x02), &auth));
	EXPECT_EQ(-EOPNOTSUPP, trn_ioctl(self->fd, DRM_IOWR(0x02, large), large));
	EXPECT_EQ(-EACCES, trn_ioctl(self->fd, DRM_IOCTL_AUTH_MAGIC, &auth));
}

TEST_F(drmcore, map_dma_buf)
{
	static const __u32 placements[] = { TRAINIUM_BO_HBM, TRAINIUM_BO_HOST };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(placements); i++) {
		__u32 handle;
		__u8 *p;
		int buf;

		ASSERT_EQ(0, trn_bo_create(self->fd, placements[i], 0, 8 * TRN_PAGE, &handle));
		if (trn_export(self->fd, handle, &buf))
			continue;
		p = mmap(NULL, 8 * TRN_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, buf, 0);
		if (p != MAP_FAILED) {
			EXPECT_EQ(-1, trn_check_byte(p, 8 * TRN_PAGE, 0));
			p[8 * TRN_PAGE - 1] = 1;
			munmap(p, 8 * TRN_PAGE);
		}
		close(buf);
	}
}

TEST_F(drmcore, master)
{
	EXPECT_GT(0, trn_ioctl(self->fd, DRM_IOCTL_SET_MASTER, NULL));
	EXPECT_GT(0, trn_ioctl(self->fd, DRM_IOCTL_DROP_MASTER, NULL));
}

TEST_F(drmcore, legacy)
{
	struct drm_client client = { .idx = 0 };
	struct drm_set_version version = { .drm_di_major = 1, .drm_di_minor = 4 };
	union drm_wait_vblank vblank = {};
	struct drm_stats stats = {};

	/* Whether it answers is the core's choice; that it lives is ours. */
	trn_ioctl(self->fd, DRM_IOCTL_GET_CLIENT, &client);
	client.idx = 12345;
	EXPECT_EQ(-EINVAL, trn_ioctl(self->fd, DRM_IOCTL_GET_CLIENT, &client));
	trn_ioctl(self->fd, DRM_IOCTL_GET_STATS, &stats);
	EXPECT_EQ(-EACCES, trn_ioctl(self->fd, DRM_IOCTL_SET_VERSION, &version));
	EXPECT_GT(0, trn_ioctl(self->fd, DRM_IOCTL_WAIT_VBLANK, &vblank));
}

TEST_F(drmcore, gem_names)
{
	struct drm_gem_flink flink = {};
	struct drm_gem_open open_arg = {};
	struct trn_bo bo;
	int ret;

	ASSERT_EQ(0, trn_host_new(self->fd, TRN_PAGE, &bo));
	flink.handle = bo.handle;
	ret = trn_ioctl(self->fd, DRM_IOCTL_GEM_FLINK, &flink);
	if (variant->user) {
		/* Global names would let anybody guess a buffer. */
		EXPECT_EQ(-EACCES, ret);
		open_arg.name = 1;
		EXPECT_EQ(-EACCES, trn_ioctl(self->fd, DRM_IOCTL_GEM_OPEN, &open_arg));
		return;
	}
	if (!ret) {
		open_arg.name = flink.name;
		EXPECT_EQ(0, trn_ioctl(self->fd, DRM_IOCTL_GEM_OPEN, &open_arg));
		EXPECT_EQ(TRN_PAGE, open_arg.size);
	}
	open_arg.name = 99999;
	EXPECT_EQ(-ENOENT, trn_ioctl(self->fd, DRM_IOCTL_GEM_OPEN, &open_arg));
	flink.handle = 99999;
	EXPECT_EQ(-ENOENT, trn_ioctl(self->fd, DRM_IOCTL_GEM_FLINK, &flink));
}

TEST_F(drmcore, gem_close)
{
	struct drm_gem_close arg = {};
	__u32 handle;

	EXPECT_EQ(-EINVAL, trn_ioctl(self->fd, DRM_IOCTL_GEM_CLOSE, &arg));
	arg.handle = ~0u;
	EXPECT_EQ(-EINVAL, trn_ioctl(self->fd, DRM_IOCTL_GEM_CLOSE, &arg));
	ASSERT_EQ(0, trn_bo_create(self->fd, TRAINIUM_BO_HBM, 0, 1, &handle));
	EXPECT_EQ(0, trn_close_handle(self->fd, handle));
	EXPECT_EQ(-EINVAL, trn_close_handle(self->fd, handle));
}

TEST_F(drmcore, syncobj)
{
	struct drm_syncobj_timeline_wait wait = {};
	struct drm_syncobj_create create = { .flags = ~0u };
	__u32 a, b;
	__u64 point = 0;
	int fd;

	EXPECT_EQ(-EINVAL, trn_ioctl(self->fd, DRM_IOCTL_SYNCOBJ_CREATE, &create));
	create.flags = DRM_SYNCOBJ_CREATE_SIGNALED;
	ASSERT_EQ(0, trn_ioctl(self->fd, DRM_IOCTL_SYNCOBJ_CREATE, &create));
	EXPECT_EQ(0, trn_sync_wait(self->fd, create.handle, 0, 0));
	ASSERT_EQ(0, trn_sync_create(self->fd, &a));
	EXPECT_EQ(-ETIME, trn_sync_wait(self->fd, a, 0, 0));
	EXPECT_EQ(0, trn_sync_signal(self->fd, a, 3));
	EXPECT_EQ(0, trn_sync_query(self->fd, a, &point));
	EXPECT_EQ(3, point);
	EXPECT_EQ(0, trn_sync_export(self->fd, a, &fd));
	EXPECT_EQ(0, trn_sync_import(self->fd, fd, &b));
	EXPECT_EQ(0, trn_sync_query(self->fd, b, &point));
	EXPECT_EQ(3, point);
	close(fd);
	EXPECT_EQ(0, trn_sync_destroy(self->fd, a));
	EXPECT_EQ(-EINVAL, trn_sync_destroy(self->fd, a));
	EXPECT_EQ(-EINVAL, trn_sync_destroy(self->fd, 0));
	EXPECT_EQ(-ENOENT, trn_sync_wait(self->fd, a, 0, 0));
	EXPECT_EQ(-EINVAL, trn_sync_export(self->fd, a, &fd));
	EXPECT_EQ(-EINVAL, trn_sync_import(self->fd, -1, &b));
	wait.flags = ~0u;
	EXPECT_EQ(-EINVAL, trn_ioctl(self->fd, DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT, &wait));
}

/* Everything about displays: refused, whoever asks */
TEST_F(drmcore, mode_setting)
{
	unsigned int nr;
	__u8 arg[256];

	for (nr = 0xa0; nr <= 0xce; nr++) {
		/* syncobjs are in the middle of them */
		if ((nr >= 0xbf && nr <= 0xc5) || (nr >= 0xca && nr <= 0xcd))
			continue;
		memset(arg, 0, sizeof(arg));
		EXPECT_GT(0, trn_ioctl(self->fd, DRM_IOWR(nr, arg), arg)) {
			TH_LOG("%#x worked", nr);
		}
	}
}

TEST_F(drmcore, unknown_numbers)
{
	unsigned int nr;
	__u8 arg[64] = {};

	/* Ours end at 0x4b, but for those of lists. */
	for (nr = 0x4c; nr < 0xa0; nr++) {
		if (nr == 0x50 || nr == 0x51)
			continue;
		EXPECT_EQ(-EINVAL, trn_ioctl(self->fd, DRM_IOWR(nr, arg), arg)) {
			TH_LOG("%#x", nr);
		}
	}
	for (nr = 0xd4; nr < 0x100; nr++)
		EXPECT_GT(0, trn_ioctl(self->fd, DRM_IOWR(nr, arg), arg));
	/* Those of AGP, maps, contexts and locks are gone. */
	for (nr = 0x13; nr < 0x40; nr++) {
		/* Some still exist: PRIME, masters, and one that does nothing. */
		if (nr == 0x1e || nr == 0x1f || (nr >= 0x2c && nr <= 0x2e))
			continue;
		EXPECT_GT(0, trn_ioctl(self->fd, DRM_IOWR(nr, arg), arg)) {
			TH_LOG("%#x worked", nr);
		}
	}
	/* And those of other drivers */
	EXPECT_EQ(-ENOTTY, trn_ioctl(self->fd, _IOWR('N', 0x40, __u64[4]), arg));
	EXPECT_EQ(-ENOTTY, trn_ioctl(self->fd, _IO('H', 0), arg));
}

TEST_F(drmcore, reset_needs_root)
{
	struct drm_trainium_reset args = { .scope = 99 };

	EXPECT_EQ(variant->user ? -EACCES : -EINVAL,
		  trn_ioctl(self->fd, DRM_IOCTL_TRAINIUM_RESET, &args));
}

TEST_F(drmcore, file_operations)
{
	struct pollfd poll_fd = { .fd = self->fd, .events = POLLIN };
	char buf[64];

	fcntl(self->fd, F_SETFL, O_NONBLOCK);
	EXPECT_EQ(-1, read(self->fd, buf, sizeof(buf)));
	EXPECT_EQ(-1, write(self->fd, buf, sizeof(buf)));
	EXPECT_EQ(0, poll(&poll_fd, 1, 10));
	EXPECT_EQ(0, lseek(self->fd, 4096, SEEK_SET));
	EXPECT_EQ(-1, ftruncate(self->fd, 4096));
	EXPECT_GT(0, fsync(self->fd));
}

/*
 * The core takes arrays of syncobjs of any length, and warns when there is no
 * memory for that many: not ours to find.
 */
static bool takes_syncobj_array(unsigned int nr)
{
	return (nr >= 0xc3 && nr <= 0xc5) || nr == 0xca || nr == 0xcb || nr == 0xcd;
}

/*
 * Any number, any size, any contents. Zeroes and small numbers are in the
 * majority, so that some get past the first check.
 */
TEST_F_TIMEOUT(drmcore, random, 60)
{
	static __u64 arg[64];
	__u64 seed = trn_now(), first = seed;
	unsigned int i, k, good = 0;

	TH_LOG("seed %llx", first);
	trn_write_file("/proc/self/oom_score_adj", "1000");
	for (i = 0; i < 10000; i++) {
		unsigned int nr = trn_rand_below(&seed, 3) ? 0x40 + trn_rand_below(&seed, 7) :
							     trn_rand_below(&seed, 256);
		unsigned int size = trn_rand_below(&seed, sizeof(arg));
		unsigned int dir = trn_rand_below(&seed, 4);

		/* As root it would reset the device, rightly. */
		if (nr == 0x46 && !variant->user)
			continue;
		if (takes_syncobj_array(nr))
			continue;
		for (k = 0; k < ARRAY_SIZE(arg); k++) {
			switch (trn_rand_below(&seed, 8)) {
			case 0:
				arg[k] = trn_rand(&seed);
				break;
			case 1:
				arg[k] = trn_rand_below(&seed, 16) |
					 trn_rand_below(&seed, 4) << 32;
				break;
			case 2:
				arg[k] = trn_ptr(arg) + 8 * trn_rand_below(&seed, 60);
				break;
			case 3:
				arg[k] = TRN_PAGE << trn_rand_below(&seed, 4);
				break;
			default:
				arg[k] = 0;
				break;
			}
		}
		/* Host memory without end is not what is tried here. */
		if (nr == 0x41 && (arg[1] & 3) == TRAINIUM_BO_HOST)
			arg[0] &= 0xffff;
		good += !ioctl(self->fd, _IOC(dir, DRM_IOCTL_BASE, nr, size), arg);
		if (i % 256 == 0) {
			/* What it made by chance would pile up. */
			close(self->fd);
			self->fd = open(self->node, O_RDWR);
			ASSERT_LE(0, self->fd);
		}
	}
	TH_LOG("%u of %u succeeded", good, i);
	EXPECT_LT(0, good);
}

#ifdef __x86_64__
/* The 32-bit entry of the kernel, from a 64-bit program */
static long ioctl32(unsigned int fd, unsigned int cmd, unsigned int arg)
{
	long ret;

	asm volatile("int $0x80"
		     : "=a" (ret)
		     : "a" (54), "b" (fd), "c" (cmd), "d" (arg)
		     : "memory", "r8", "r9", "r10", "r11");
	return (int)ret;
}

/* Layouts are the same in 32-bit programs: nothing is to be translated. */
TEST_F(drmcore, compat)
{
	struct {
		struct drm_trainium_query query;
		struct drm_trainium_query_device device;
		struct drm_trainium_bo_create create;
		struct drm_trainium_queue_create queue;
		struct drm_trainium_op op;
		struct drm_trainium_submit submit;
		__u8 unique[64];
	} *low;
	pid_t pid;
	long ret;

	low = mmap(NULL, 2 * TRN_PAGE, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	ASSERT_NE(MAP_FAILED, low);
	pid = trn_fork();
	ASSERT_LE(0, pid);
	if (!pid)
		_exit(ioctl32(-1, 0, 0) == -EBADF ? 0 : 1);
	if (trn_reap(pid, TRN_PATIENCE))
		SKIP(return, "the kernel has no 32-bit entry");

	low->query = (struct drm_trainium_query){
		.size = sizeof(low->device),
		.data = trn_ptr(&low->device),
	};
	ret = ioctl32(self->fd, DRM_IOCTL_TRAINIUM_QUERY, trn_ptr(&low->query));
	ASSERT_EQ(0, ret);
	EXPECT_EQ(2, low->device.generation);
	low->create = (struct drm_trainium_bo_create){ .size = TRN_PAGE };
	ASSERT_EQ(0, ioctl32(self->fd, DRM_IOCTL_TRAINIUM_BO_CREATE, trn_ptr(&low->create)));
	low->queue = (struct drm_trainium_queue_create){ .stack = TRAINIUM_STACK_ANY };
	ASSERT_EQ(0, ioctl32(self->fd, DRM_IOCTL_TRAINIUM_QUEUE_CREATE, trn_ptr(&low->queue)));
	low->op = trn_op_fill(low->create.handle, 0, TRN_PAGE, 1, 1);
	low->submit = trn_job(low->queue.queue, &low->op, 1);
	low->submit.flags = TRAINIUM_SUBMIT_WAIT;
	low->submit.deadline_ns = trn_now() + TRN_PATIENCE;
	ASSERT_EQ(0, ioctl32(self->fd, DRM_IOCTL_TRAINIUM_SUBMIT, trn_ptr(&low->submit)));
	EXPECT_EQ(1, low->submit.seqno);
	EXPECT_EQ(TRAINIUM_STATUS_DONE, low->submit.status);

	/* The way around the filter */
	EXPECT_EQ(-EOPNOTSUPP, ioctl32(self->fd, _IOC(3, DRM_IOCTL_BASE, 0x01, 8),
				       trn_ptr(low->unique)));
	EXPECT_EQ(-EOPNOTSUPP, ioctl32(self->fd, DRM_IOCTL_GET_UNIQUE, trn_ptr(low->unique)));
	EXPECT_EQ(-EOPNOTSUPP, ioctl32(self->fd, DRM_IOCTL_GET_MAGIC, trn_ptr(low->unique)));
}

TEST_F(drmcore, compat_random)
{
	__u64 seed = trn_now(), *arg;
	unsigned int i, k;

	arg = mmap(NULL, TRN_PAGE, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	ASSERT_NE(MAP_FAILED, arg);
	TH_LOG("seed %llx", seed);
	for (i = 0; i < 5000; i++) {
		unsigned int nr = trn_rand_below(&seed, 256);

		if (nr == 0x46 || takes_syncobj_array(nr))
			continue;
		for (k = 0; k < 32; k++)
			arg[k] = trn_rand_below(&seed, 3) ? 0 : trn_rand(&seed) >> 48;
		ioctl32(self->fd, _IOC(trn_rand_below(&seed, 4), DRM_IOCTL_BASE, nr,
				       trn_rand_below(&seed, 256)), trn_ptr(arg));
	}
}
#endif

TEST_HARNESS_MAIN
