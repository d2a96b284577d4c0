// SPDX-License-Identifier: GPL-2.0-only
/* What one open file has, no other one reaches */
#include <fcntl.h>
#include <sys/socket.h>

#include "kselftest_harness.h"
#include "trainium_util.h"

#define SIZE TRN_KIB(256)

FIXTURE(isolation) {
	int a, b;
	__u32 qa, qb;
	struct trn_bo bo_a, bo_b;
};

FIXTURE_SETUP(isolation)
{
	unsigned int i;
	__u32 spare;

	self->a = trn_open(0);
	self->b = trn_open(0);
	ASSERT_LE(0, self->a);
	ASSERT_LE(0, self->b);
	ASSERT_EQ(0, trn_queue_create(self->a, TRAINIUM_STACK_ANY, 0, &self->qa));
	/* Numbers of b are beyond those of a. */
	for (i = 0; i < 10; i++) {
		ASSERT_EQ(0, trn_bo_create(self->b, TRAINIUM_BO_HBM, 0, TRN_PAGE, &spare));
		ASSERT_EQ(0, trn_queue_create(self->b, TRAINIUM_STACK_ANY, 1, &self->qb));
	}
	ASSERT_EQ(0, trn_hbm_new(self->a, 0, SIZE, &self->bo_a));
	ASSERT_EQ(0, trn_hbm_new(self->b, 0, SIZE, &self->bo_b));
	ASSERT_EQ(0, trn_fill(self->a, self->qa, self->bo_a.handle, 0, SIZE, 0xaa, 1));
	ASSERT_EQ(0, trn_fill(self->b, self->qb, self->bo_b.handle, 0, SIZE, 0xbb, 1));
}

FIXTURE_TEARDOWN(isolation)
{
	close(self->a);
	close(self->b);
}

TEST_F(isolation, handles)
{
	struct drm_trainium_bo_info info;
	int fd;

	ASSERT_LT(self->bo_a.handle, self->bo_b.handle);
	EXPECT_EQ(-ENOENT, trn_bo_info(self->a, self->bo_b.handle, &info));
	EXPECT_EQ(-EINVAL, trn_close_handle(self->a, self->bo_b.handle));
	EXPECT_EQ(-ENOENT, trn_export(self->a, self->bo_b.handle, &fd));
	EXPECT_EQ(-ENOENT, trn_copy(self->a, self->qa, self->bo_a.handle, 0,
				    self->bo_b.handle, 0, 8));
	EXPECT_EQ(-ENOENT, trn_fill(self->a, self->qa, self->bo_b.handle, 0, 8, 0, 1));
	if (self->bo_b.map)
		EXPECT_EQ(-1, trn_check_byte(self->bo_b.map, SIZE, 0xbb));
}

TEST_F(isolation, queues)
{
	struct drm_trainium_query_queue q;

	ASSERT_NE(self->qa, self->qb);
	EXPECT_EQ(-ENOENT, trn_fill(self->a, self->qb, self->bo_a.handle, 0, 8, 0, 1));
	EXPECT_EQ(-ENOENT, trn_queue(self->a, self->qb, &q));
	EXPECT_EQ(-ENOENT, trn_queue_destroy(self->a, self->qb));
	ASSERT_EQ(0, trn_queue(self->b, self->qb, &q));
	EXPECT_EQ(1, q.submitted);
}

TEST_F(isolation, mmap_offsets)
{
	struct drm_trainium_bo_info info;
	__u64 offset;

	ASSERT_EQ(0, trn_bo_info(self->b, self->bo_b.handle, &info));
	if (!info.mmap_offset)
		SKIP(return, "HBM cannot be mapped");
	EXPECT_EQ(MAP_FAILED, mmap(NULL, SIZE, PROT_READ, MAP_SHARED, self->a,
				   info.mmap_offset));
	/* Nor anything near it */
	for (offset = info.mmap_offset - 16 * TRN_PAGE;
	     offset < info.mmap_offset + SIZE + 16 * TRN_PAGE; offset += TRN_PAGE) {
		struct drm_trainium_bo_info own;
		void *p;

		ASSERT_EQ(0, trn_bo_info(self->a, self->bo_a.handle, &own));
		if (offset >= own.mmap_offset && offset < own.mmap_offset + SIZE)
			continue;
		p = mmap(NULL, TRN_PAGE, PROT_READ, MAP_SHARED, self->a, offset);
		EXPECT_EQ(MAP_FAILED, p);
	}
}

TEST_F(isolation, syncobjs)
{
	struct drm_trainium_op op = trn_op_fill(self->bo_a.handle, 0, SIZE, 0, 1);
	struct drm_trainium_submit s = trn_job(self->qa, &op, 1);
	struct drm_trainium_sync sync = {};
	unsigned int i;

	for (i = 0; i < 10; i++)
		ASSERT_EQ(0, trn_sync_create(self->b, &sync.handle));
	s.out_syncs = trn_ptr(&sync);
	s.out_sync_count = 1;
	EXPECT_EQ(-ENOENT, trn_submit(self->a, &s));
}

/* Limits are counted for each file: one at its limit does not stop another. */
TEST_F(isolation, limits)
{
	__u32 queue;
	int ret;

	do {
		ret = trn_queue_create(self->a, TRAINIUM_STACK_ANY, 1, &queue);
	} while (!ret);
	EXPECT_EQ(-EDQUOT, ret);
	EXPECT_EQ(0, trn_queue_create(self->b, TRAINIUM_STACK_ANY, 1, &queue));
	EXPECT_EQ(0, trn_fill(self->b, queue, self->bo_b.handle, 0, 8, 0, 1));
}

/* HBM that a process wrote and gave back, by exit or by kill, reads as zero */
TEST_F(isolation, no_data_between_processes)
{
	struct trn_bo out;
	unsigned int round;

	ASSERT_EQ(0, trn_host_new(self->b, TRN_MIB(8), &out));
	for (round = 0; round < 10; round++) {
		struct trn_bo bo;
		pid_t pid = trn_fork();

		ASSERT_LE(0, pid);
		if (!pid) {
			int fd = trn_open(0);
			unsigned int i;
			__u32 queue;

			if (trn_queue_create(fd, 0, 1, &queue))
				_exit(1);
			for (i = 0; i < 4; i++) {
				if (trn_hbm_new(fd, 2, TRN_MIB(2), &bo) ||
				    trn_fill(fd, queue, bo.handle, 0, TRN_MIB(2),
					     0x5ec2e75ec2e75ec2ull, 8))
					_exit(2);
			}
			if (round % 2)
				kill(getpid(), SIGKILL);
			_exit(0);
		}
		ASSERT_EQ(round % 2 ? 128 + SIGKILL : 0, trn_reap(pid, TRN_PATIENCE));
		ASSERT_EQ(0, trn_hbm_new(self->b, 2, TRN_MIB(8), &bo));
		memset(out.map, 0xff, out.size);
		ASSERT_EQ(0, trn_copy(self->b, self->qb, out.handle, 0, bo.handle, 0, out.size));
		EXPECT_EQ(-1, trn_check_byte(out.map, out.size, 0));
		trn_bo_put(self->b, &bo);
	}
}

/* Two processes work at the same time; each sees its own data only. */
TEST_F_TIMEOUT(isolation, parallel_processes, 60)
{
	pid_t pid[4];
	unsigned int p;

	for (p = 0; p < ARRAY_SIZE(pid); p++) {
		pid[p] = trn_fork();
		ASSERT_LE(0, pid[p]);
		if (!pid[p]) {
			struct trn_bo in, out, bo[4];
			int fd = trn_open(0);
			unsigned int i, round;
			__u32 queue;

			if (trn_queue_create(fd, p, 2, &queue) ||
			    trn_host_new(fd, SIZE, &in) || trn_host_new(fd, SIZE, &out))
				_exit(1);
			for (round = 0; round < 30; round++) {
				for (i = 0; i < 4; i++) {
					if (trn_hbm_new(fd, i, SIZE, &bo[i]))
						_exit(2);
					trn_pattern(in.map, 0, SIZE, p << 20 | round << 4 | i);
					if (trn_copy(fd, queue, bo[i].handle, 0, in.handle, 0,
						     SIZE))
						_exit(3);
				}
				for (i = 0; i < 4; i++) {
					if (trn_copy(fd, queue, out.handle, 0, bo[i].handle, 0,
						     SIZE))
						_exit(4);
					if (trn_check(out.map, 0, SIZE,
						      p << 20 | round << 4 | i) != -1)
						_exit(5);
					trn_bo_put(fd, &bo[i]);
				}
			}
			_exit(0);
		}
	}
	for (p = 0; p < ARRAY_SIZE(pid); p++)
		EXPECT_EQ(0, trn_reap(pid[p], trn_limit(60 * TRN_SEC))) TH_LOG("process %u", p);
}

/* A passed fd is the same file: handles, queues and all */
TEST_F(isolation, passed_fd)
{
	int pair[2];
	pid_t pid;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	pid = trn_fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		char control[CMSG_SPACE(sizeof(int))] = {}, byte;
		struct iovec iov = { &byte, 1 };
		struct msghdr msg = {
			.msg_iov = &iov,
			.msg_iovlen = 1,
			.msg_control = control,
			.msg_controllen = sizeof(control),
		};
		int fd;

		close(self->a);
		close(self->b);
		if (recvmsg(pair[1], &msg, 0) != 1)
			_exit(1);
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
		if (trn_fill(fd, self->qa, self->bo_a.handle, 0, SIZE, 0xcd, 1))
			_exit(2);
		_exit(trn_queue_destroy(fd, self->qa) ? 3 : 0);
	}
	{
		char control[CMSG_SPACE(sizeof(int))] = {}, byte = 'x';
		struct iovec iov = { &byte, 1 };
		struct msghdr msg = {
			.msg_iov = &iov,
			.msg_iovlen = 1,
			.msg_control = control,
			.msg_controllen = sizeof(control),
		};
		struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);

		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(cmsg), &self->a, sizeof(int));
		ASSERT_EQ(1, sendmsg(pair[0], &msg, 0));
	}
	ASSERT_EQ(0, trn_reap(pid, TRN_PATIENCE));
	if (self->bo_a.map)
		EXPECT_EQ(-1, trn_check_byte(self->bo_a.map, SIZE, 0xcd));
	EXPECT_EQ(-ENOENT, trn_queue_destroy(self->a, self->qa));
}

/* F3: a buffer belongs to the file; the file lives while anybody has it */
TEST_F(isolation, fd_outlives_opener)
{
	struct trn_snapshot base;
	int out[2];
	pid_t pid;
	char byte;

	ASSERT_EQ(0, trn_snapshot(self->a, &base));
	ASSERT_EQ(0, pipe(out));
	pid = trn_fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		int fd = trn_open(0);
		__u32 handle, queue;

		if (trn_bo_create(fd, TRAINIUM_BO_HBM, 0, TRN_MIB(1), &handle) ||
		    trn_queue_create(fd, 0, 1, &queue))
			_exit(1);
		/* The grandchild inherits it and stays until told. */
		if (!fork()) {
			close(out[0]);
			if (write(out[1], "x", 1) != 1)
				_exit(1);
			trn_sleep(300 * TRN_MSEC);
			_exit(0);
		}
		_exit(0);
	}
	close(out[1]);
	ASSERT_EQ(0, trn_reap(pid, TRN_PATIENCE));
	ASSERT_EQ(1, read(out[0], &byte, 1));
	EXPECT_NE(NULL, trn_settle(self->a, &base, 0));
	/* End of file: the last holder is gone. */
	EXPECT_EQ(0, read(out[0], &byte, 1));
	EXPECT_EQ(NULL, trn_settle(self->a, &base, TRN_SEC));
}

static int as_other_user(void *arg)
{
	__u32 q, bo;
	int fd;

	if (trn_become_user())
		return 1;
	fd = open(arg, O_RDWR);
	if (fd < 0)
		return 2;
	if (trn_queue_create(fd, TRAINIUM_STACK_ANY, 0, &q) ||
	    trn_bo_create(fd, TRAINIUM_BO_HBM, TRAINIUM_STACK_ANY, SIZE, &bo) ||
	    trn_fill(fd, q, bo, 0, SIZE, 1, 1))
		return 3;
	return 0;
}

/* Makes shared buffers without end. */
static void share_without_end(void)
{
	int fd = trn_open(0), buf;
	__u32 handle;

	for (;;) {
		if (trn_bo_create(fd, TRAINIUM_BO_HOST, 0, TRN_PAGE, &handle) ||
		    trn_export(fd, handle, &buf) || trn_close_handle(fd, handle))
			_exit(1);
		close(buf);
	}
}

/* What others share does not hold up a job that takes long to be looked through. */
TEST_F_TIMEOUT(isolation, shares_of_others, 60)
{
	static struct drm_trainium_op ops[65536];
	struct trn_bo bo;
	unsigned int i;
	pid_t pid[2];
	__u32 queue;
	int fd;

	fd = trn_open(0);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, trn_queue_create(fd, TRAINIUM_STACK_ANY, 0, &queue));
	ASSERT_EQ(0, trn_host_new(fd, TRN_MIB(1), &bo));
	for (i = 0; i < ARRAY_SIZE(ops); i++)
		ops[i] = trn_op_copy(bo.handle, 0, bo.handle, TRN_PAGE, 64);
	for (i = 0; i < ARRAY_SIZE(pid); i++) {
		pid[i] = trn_fork();
		ASSERT_LE(0, pid[i]);
		if (!pid[i])
			share_without_end();
	}
	trn_sleep(100 * TRN_MSEC);
	/* Its deadline is kept, and there is time for many of them until then. */
	for (i = 0; i < 5; i++)
		EXPECT_EQ(0, trn_run_for(fd, queue, ops, ARRAY_SIZE(ops), trn_limit(5 * TRN_SEC)));
	for (i = 0; i < ARRAY_SIZE(pid); i++) {
		ASSERT_EQ(0, kill(pid[i], SIGKILL));
		EXPECT_EQ(128 + SIGKILL, trn_reap(pid[i], TRN_PATIENCE));
	}
	trn_bo_put(fd, &bo);
	close(fd);
}

TEST_F(isolation, user_beside_root)
{
	char path[64];

	ASSERT_EQ(0, trn_user_node(0, path, sizeof(path)));
	EXPECT_EQ(0, trn_in_child(as_other_user, path));
	unlink(path);
	EXPECT_EQ(0, trn_fill(self->a, self->qa, self->bo_a.handle, 0, SIZE, 1, 1));
}

/* Ids of one device mean nothing on the other */
TEST_F(isolation, two_devices)
{
	struct drm_trainium_bo_info info;
	struct trn_snapshot before, after;
	struct trn_bo bo;
	__u32 queue;
	int fd;

	if (trn_num_devices() < 2)
		SKIP(return, "one device only");
	fd = trn_open(1);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-ENOENT, trn_bo_info(fd, self->bo_a.handle, &info));
	ASSERT_EQ(0, trn_snapshot(self->a, &before));
	ASSERT_EQ(0, trn_hbm_new(fd, 0, SIZE, &bo));
	ASSERT_EQ(0, trn_queue_create(fd, 0, 1, &queue));
	ASSERT_EQ(0, trn_fill(fd, queue, bo.handle, 0, SIZE, 0xdd, 1));
	ASSERT_EQ(0, trn_snapshot(self->a, &after));
	EXPECT_EQ(NULL, trn_snapshot_diff(&before, &after));
	if (self->bo_a.map)
		EXPECT_EQ(-1, trn_check_byte(self->bo_a.map, SIZE, 0xaa));
	close(fd);
}

TEST_HARNESS_MAIN
