// SPDX-License-Identifier: GPL-2.0-only
/*
 * Limits of the memory of a file, of a cgroup, and what a user who is not root
 * can do, in a user namespace too.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <grp.h>

#include "kselftest_harness.h"
#include "trainium_util.h"

FIXTURE(limits) {
	int fd, other;
	struct trn_snapshot base;
	__u64 buffers, hbm, pinned;
};

FIXTURE_SETUP(limits)
{
	self->buffers = trn_get_param("max_file_buffers");
	self->hbm = trn_get_param("max_file_hbm");
	self->pinned = trn_get_param("max_file_pinned");
	ASSERT_NE(~0ull, self->buffers);
	ASSERT_NE(~0ull, self->hbm);
	ASSERT_NE(~0ull, self->pinned);
	self->fd = trn_open(0);
	self->other = trn_open(0);
	ASSERT_LE(0, self->fd);
	ASSERT_LE(0, self->other);
	ASSERT_EQ(0, trn_snapshot(self->fd, &self->base));
	self->base.engines = 0;
}

FIXTURE_TEARDOWN(limits)
{
	trn_set_param("max_file_buffers", self->buffers);
	trn_set_param("max_file_hbm", self->hbm);
	trn_set_param("max_file_pinned", self->pinned);
	close(self->fd);
	EXPECT_EQ(NULL, trn_settle(self->other, &self->base, 2 * TRN_SEC));
	close(self->other);
}

/* A handle or a negative error */
static int hbm_on(int fd, __u32 stack, __u64 size)
{
	__u32 handle;
	int ret = trn_bo_create(fd, TRAINIUM_BO_HBM, stack, size, &handle);

	return ret ?: (int)handle;
}

static int hbm_new(int fd, __u64 size)
{
	return hbm_on(fd, TRAINIUM_STACK_ANY, size);
}

/* C12: one file at its limit, and another one that does not notice */
TEST_F(limits, hbm)
{
	struct drm_trainium_query_limits l;
	int handle, i;

	ASSERT_EQ(0, trn_set_param("max_file_hbm", 8));
	ASSERT_EQ(0, trn_limits(self->fd, &l));
	EXPECT_EQ(TRN_MIB(8), l.max_hbm);
	for (i = 0; i < 8; i++) {
		handle = hbm_new(self->fd, TRN_MIB(1));
		ASSERT_LT(0, handle);
	}
	EXPECT_EQ(-EDQUOT, hbm_new(self->fd, 1));
	EXPECT_LT(0, hbm_new(self->other, TRN_MIB(8)));
	EXPECT_EQ(-EDQUOT, hbm_new(self->other, 1));
	/* Host memory is another matter. */
	EXPECT_EQ(0, trn_bo_create(self->fd, TRAINIUM_BO_HOST, 0, TRN_MIB(1), (__u32 *)&i));
	ASSERT_EQ(0, trn_close_handle(self->fd, handle));
	EXPECT_EQ(-EDQUOT, hbm_new(self->fd, TRN_MIB(1) + 1));
	EXPECT_LT(0, hbm_new(self->fd, TRN_MIB(1)));
	ASSERT_EQ(0, trn_set_param("max_file_hbm", 0));
	EXPECT_LT(0, hbm_new(self->fd, TRN_MIB(1)));
	close(self->other);
	self->other = trn_open(0);
}

/* Memory that somebody else still holds counts for the one who has made it. */
TEST_F(limits, shared)
{
	int handle, buf;
	__u32 imported;

	ASSERT_EQ(0, trn_set_param("max_file_hbm", 4));
	handle = hbm_new(self->fd, TRN_MIB(4));
	ASSERT_LT(0, handle);
	ASSERT_EQ(0, trn_export(self->fd, handle, &buf));
	ASSERT_EQ(0, trn_close_handle(self->fd, handle));
	EXPECT_EQ(-EDQUOT, hbm_new(self->fd, 1));
	ASSERT_EQ(0, trn_import(self->other, buf, &imported));
	close(buf);
	EXPECT_EQ(-EDQUOT, hbm_new(self->fd, 1));
	/* It is none of the importer's. */
	handle = hbm_new(self->other, TRN_MIB(4));
	EXPECT_LT(0, handle);
	EXPECT_EQ(0, trn_close_handle(self->other, handle));
	ASSERT_EQ(0, trn_close_handle(self->other, imported));
	EXPECT_LT(0, hbm_new(self->fd, TRN_MIB(4)));
}

TEST_F(limits, pinned)
{
	__u8 *mem = mmap(NULL, TRN_MIB(4), PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct drm_trainium_query_limits l;
	__u32 host, user, more;

	ASSERT_NE(MAP_FAILED, mem);
	ASSERT_EQ(0, trn_set_param("max_file_pinned", 2));
	ASSERT_EQ(0, trn_limits(self->fd, &l));
	EXPECT_EQ(TRN_MIB(2), l.max_pinned);
	ASSERT_EQ(0, trn_bo_create(self->fd, TRAINIUM_BO_HOST, 0, TRN_MIB(1), &host));
	EXPECT_EQ(-EDQUOT, trn_bo_userptr(self->fd, mem, TRN_MIB(1) + 1, 0, &more));
	/* Two pages are pinned for two bytes. */
	ASSERT_EQ(0, trn_bo_userptr(self->fd, mem + TRN_PAGE - 1, 2, 0, &user));
	EXPECT_EQ(-EDQUOT, trn_bo_create(self->fd, TRAINIUM_BO_HOST, 0,
					 TRN_MIB(1) - TRN_PAGE, &more));
	EXPECT_EQ(0, trn_bo_create(self->fd, TRAINIUM_BO_HOST, 0, TRN_MIB(1) - 2 * TRN_PAGE,
				   &more));
	ASSERT_EQ(0, trn_close_handle(self->fd, user));
	EXPECT_EQ(-EDQUOT, trn_bo_userptr(self->fd, mem, 3 * TRN_PAGE, 0, &more));
	EXPECT_EQ(0, trn_bo_userptr(self->fd, mem, 2 * TRN_PAGE, 0, &more));
	EXPECT_LT(0, hbm_new(self->fd, TRN_MIB(4)));
	munmap(mem, TRN_MIB(4));
}

TEST_F(limits, buffers)
{
	struct drm_trainium_query_limits l;
	int handle = 0, i;
	__u32 host;

	ASSERT_EQ(0, trn_set_param("max_file_buffers", 10));
	ASSERT_EQ(0, trn_limits(self->fd, &l));
	EXPECT_EQ(10, l.max_buffers);
	for (i = 0; i < 10; i++) {
		handle = hbm_new(self->fd, TRN_PAGE);
		ASSERT_LT(0, handle);
	}
	EXPECT_EQ(-EDQUOT, hbm_new(self->fd, TRN_PAGE));
	EXPECT_EQ(-EDQUOT, trn_bo_create(self->fd, TRAINIUM_BO_HOST, 0, TRN_PAGE, &host));
	/* Malformed is malformed first. */
	EXPECT_EQ(-EINVAL, hbm_new(self->fd, 0));
	ASSERT_EQ(0, trn_close_handle(self->fd, handle));
	EXPECT_EQ(0, trn_bo_create(self->fd, TRAINIUM_BO_HOST, 0, TRN_PAGE, &host));
}

/* A create that fails for another reason leaves nothing on the account. */
TEST_F(limits, failures_do_not_count)
{
	unsigned int i;
	__u32 handle;

	ASSERT_EQ(0, trn_set_param("max_file_pinned", 1));
	for (i = 0; i < 1000; i++)
		ASSERT_EQ(-EFAULT, trn_bo_userptr(self->fd, (void *)TRN_PAGE, TRN_KIB(64), 0,
						  &handle));
	EXPECT_EQ(0, trn_bo_create(self->fd, TRAINIUM_BO_HOST, 0, TRN_MIB(1), &handle));
	ASSERT_EQ(0, trn_set_param("max_file_buffers", 2));
	for (i = 0; i < 100; i++)
		ASSERT_EQ(-ENOSPC, hbm_new(self->fd, 1ull << 45));
	EXPECT_LT(0, hbm_new(self->fd, TRN_MIB(1)));
}

static void *take_pages(void *arg)
{
	unsigned long n = 0;

	while (hbm_new(*(int *)arg, TRN_PAGE) > 0)
		n++;
	return (void *)n;
}

TEST_F(limits, race)
{
	pthread_t thread[4];
	unsigned long sum = 0;
	unsigned int i;
	void *n;

	ASSERT_EQ(0, trn_set_param("max_file_hbm", 1));
	for (i = 0; i < ARRAY_SIZE(thread); i++)
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, take_pages, &self->fd));
	for (i = 0; i < ARRAY_SIZE(thread); i++) {
		ASSERT_EQ(0, pthread_join(thread[i], &n));
		sum += (unsigned long)n;
	}
	EXPECT_EQ(TRN_MIB(1) / TRN_PAGE, sum);
}

#define CGROUP "/tmp/trainium-cgroup"

/* A cgroup "test", with what @controller has a file for; false: there is none. */
static bool cgroup_open(const char *controller, const char *file)
{
	mkdir(CGROUP, 0755);
	if (mount("none", CGROUP, "cgroup2", 0, NULL))
		return false;
	trn_write_file(CGROUP "/cgroup.subtree_control", controller);
	mkdir(CGROUP "/test", 0755);
	return !access(file, F_OK);
}

static void cgroup_close(void)
{
	rmdir(CGROUP "/test");
	umount(CGROUP);
	rmdir(CGROUP);
}

static int host_in_cgroup(void *arg)
{
	__u32 big, small;
	__u64 used;
	int fd;

	if (trn_write_file(CGROUP "/test/cgroup.procs", "0") < 0)
		return 1;
	fd = trn_open(0);
	if (fd < 0)
		return 2;
	/* Refused, not killed */
	if (trn_bo_create(fd, TRAINIUM_BO_HOST, 0, TRN_MIB(128), &big) != -ENOMEM)
		return 3;
	if (trn_bo_create(fd, TRAINIUM_BO_HOST, 0, TRN_MIB(16), &small))
		return 4;
	used = trn_number_in(CGROUP "/test/memory.current", "");
	if (used < TRN_MIB(16) || used > TRN_MIB(32))
		return 5;
	/* Memory of the device is not the cgroup's. */
	return hbm_new(fd, TRN_MIB(128)) > 0 ? 0 : 6;
}

/* Host buffers are charged to the cgroup of whoever makes them. */
TEST_F(limits, cgroup)
{
	if (!cgroup_open("+memory", CGROUP "/test/memory.max") ||
	    trn_write_file(CGROUP "/test/memory.max", "33554432")) {
		cgroup_close();
		SKIP(return, "no memory cgroups");
	}
	EXPECT_EQ(0, trn_in_child(host_in_cgroup, NULL));
	cgroup_close();
}

static int hbm_in_cgroup(void *arg)
{
	const char *stack0 = arg;
	int fd, handle;

	if (trn_write_file(CGROUP "/test/cgroup.procs", "0") < 0)
		return 1;
	fd = trn_open(0);
	if (fd < 0)
		return 2;
	if (hbm_on(fd, 0, TRN_MIB(8) + 1) != -EDQUOT)
		return 3;
	handle = hbm_on(fd, 0, TRN_MIB(8));
	if (handle < 0)
		return 4;
	if (trn_number_in(CGROUP "/test/dmem.current", stack0) != TRN_MIB(8))
		return 5;
	if (hbm_on(fd, 0, 1) != -EDQUOT)
		return 6;
	/* Of the other stacks nothing was said. */
	if (hbm_on(fd, 1, TRN_MIB(9)) < 0)
		return 7;
	if (trn_close_handle(fd, handle))
		return 8;
	if (trn_number_in(CGROUP "/test/dmem.current", stack0))
		return 9;
	return hbm_on(fd, 0, TRN_MIB(8)) < 0 ? 10 : 0;
}

/* Memory of the device has limits of its own, each stack one, on newer kernels. */
TEST_F(limits, cgroup_device)
{
	char stack0[64], limit[128];

	snprintf(stack0, sizeof(stack0), "drm/%s/hbm0 ", trn_bdf(0));
	snprintf(limit, sizeof(limit), "%s%llu", stack0, TRN_MIB(8));
	if (!cgroup_open("+dmem", CGROUP "/test/dmem.max")) {
		cgroup_close();
		SKIP(return, "no cgroups of device memory");
	}
	EXPECT_NE(~0ull, trn_number_in(CGROUP "/dmem.capacity", stack0));
	EXPECT_EQ(0, trn_write_file(CGROUP "/test/dmem.max", limit));
	EXPECT_EQ(0, trn_in_child(hbm_in_cgroup, stack0));
	cgroup_close();
}

/* All that a client does, on a node that only its group may open */
static int work(const char *node, __u64 memlock)
{
	struct rlimit limit = { .rlim_cur = memlock, .rlim_max = memlock };
	struct drm_trainium_reset reset = {};
	struct trn_bo hbm, host;
	int fd, buf, other;
	__u32 queue, handle;
	__u8 *mem;

	if (setrlimit(RLIMIT_MEMLOCK, &limit))
		return 20;
	fd = open(node, O_RDWR | O_CLOEXEC);
	other = open(node, O_RDWR | O_CLOEXEC);
	if (fd < 0 || other < 0)
		return 21;
	if (trn_queue_create(fd, TRAINIUM_STACK_ANY, 0, &queue) ||
	    trn_hbm_new(fd, TRAINIUM_STACK_ANY, TRN_MIB(1), &hbm) ||
	    trn_host_new(fd, TRN_MIB(1), &host))
		return 22;
	trn_pattern(host.map, 0, TRN_MIB(1), 4);
	if (trn_copy(fd, queue, hbm.handle, 0, host.handle, 0, TRN_MIB(1)) ||
	    trn_fill(fd, queue, host.handle, 0, TRN_MIB(1), 0, 1) ||
	    trn_copy(fd, queue, host.handle, 0, hbm.handle, 0, TRN_MIB(1)) ||
	    trn_check(host.map, 0, TRN_MIB(1), 4) != -1)
		return 23;
	if (trn_export(fd, hbm.handle, &buf) || trn_import(other, buf, &handle))
		return 24;
	mem = mmap(NULL, TRN_MIB(1), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (trn_bo_userptr(fd, mem, memlock, 0, &handle))
		return 25;
	if (trn_copy(fd, queue, handle, 0, hbm.handle, 0, memlock) ||
	    trn_check(mem, 0, memlock, 4) != -1)
		return 26;
	/* Nor is the root of a user namespace above the limit. */
	if (trn_bo_userptr(fd, mem, TRN_PAGE, 0, &handle) != -ENOMEM)
		return 27;
	if (trn_ioctl(fd, DRM_IOCTL_TRAINIUM_RESET, &reset) != -EACCES)
		return 28;
	if (trn_set_param("max_file_hbm", 0) != -EACCES)
		return 29;
	return 0;
}

static int as_member_of_group(void *arg)
{
	gid_t group = TRN_TEST_GID;

	/* A group among others, as "render" is for a person */
	if (setgroups(1, &group) || setgid(TRN_TEST_UID) || setuid(TRN_TEST_UID))
		return 1;
	return work(arg, TRN_KIB(64));
}

static int as_stranger(void *arg)
{
	if (setgroups(0, NULL) || setgid(TRN_TEST_UID) || setuid(TRN_TEST_UID))
		return 1;
	return open(arg, O_RDWR) < 0 && errno == EACCES ? 0 : 2;
}

static int in_user_namespace(void *arg)
{
	char map[32];
	int ret;

	if (trn_become_user())
		return 1;
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWIPC))
		return errno == EPERM || errno == EINVAL || errno == ENOSPC ? 77 : 2;
	snprintf(map, sizeof(map), "0 %u 1", TRN_TEST_UID);
	ret = trn_write_file("/proc/self/setgroups", "deny");
	if (ret && ret != -ENOENT)
		return 3;
	if (trn_write_file("/proc/self/uid_map", map))
		return 4;
	snprintf(map, sizeof(map), "0 %u 1", TRN_TEST_GID);
	if (trn_write_file("/proc/self/gid_map", map))
		return 5;
	if (getuid() || getgid())
		return 6;
	return work(arg, TRN_KIB(64));
}

TEST_F(limits, group)
{
	char path[64];

	ASSERT_EQ(0, trn_user_node(0, path, sizeof(path)));
	EXPECT_EQ(0, trn_in_child(as_member_of_group, path));
	EXPECT_EQ(0, trn_in_child(as_stranger, path));
	unlink(path);
}

TEST_F(limits, user_namespace)
{
	char path[64];
	int ret;

	ASSERT_EQ(0, trn_user_node(0, path, sizeof(path)));
	ret = trn_in_child(in_user_namespace, path);
	unlink(path);
	if (ret == 77)
		SKIP(return, "no user namespaces for users");
	EXPECT_EQ(0, ret);
}

TEST_HARNESS_MAIN
