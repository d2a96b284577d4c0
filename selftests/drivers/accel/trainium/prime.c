// SPDX-License-Identifier: GPL-2.0-only
/* Buffers shared as dma-buf */
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>

#include <linux/dma-buf.h>

#include "kselftest_harness.h"
#include "trainium_util.h"

#define SIZE TRN_KIB(256)

FIXTURE(prime) {
	int a, b;
	__u32 qa, qb;
	struct trn_bo bo;
	struct trn_bo back;
	int log;
};

FIXTURE_VARIANT(prime) {
	__u32 placement;
};

FIXTURE_VARIANT_ADD(prime, hbm) {
	.placement = TRAINIUM_BO_HBM,
};

FIXTURE_VARIANT_ADD(prime, host) {
	.placement = TRAINIUM_BO_HOST,
};

FIXTURE_SETUP(prime)
{
	self->log = trn_log_open();
	self->a = trn_open(0);
	self->b = trn_open(0);
	ASSERT_LE(0, self->a);
	ASSERT_LE(0, self->b);
	ASSERT_EQ(0, trn_queue_create(self->a, TRAINIUM_STACK_ANY, 0, &self->qa));
	ASSERT_EQ(0, trn_queue_create(self->b, TRAINIUM_STACK_ANY, 0, &self->qb));
	ASSERT_EQ(0, trn_bo_new(self->a, variant->placement, 0, SIZE, &self->bo));
	ASSERT_EQ(0, trn_host_new(self->b, SIZE, &self->back));
	ASSERT_NE(NULL, self->back.map);
}

FIXTURE_TEARDOWN(prime)
{
	char line[1024];

	close(self->a);
	close(self->b);
	EXPECT_FALSE(trn_log_fault(self->log, line, sizeof(line))) {
		TH_LOG("%s", line);
	}
	close(self->log);
}

TEST_F(prime, between_files)
{
	struct drm_trainium_bo_info info;
	__u32 imported;
	int fd;

	ASSERT_EQ(0, trn_export(self->a, self->bo.handle, &fd));
	ASSERT_EQ(0, trn_import(self->b, fd, &imported));
	close(fd);
	ASSERT_EQ(0, trn_bo_info(self->b, imported, &info));
	EXPECT_EQ(SIZE, info.size);
	EXPECT_EQ(variant->placement, info.placement);
	ASSERT_EQ(0, trn_fill(self->a, self->qa, self->bo.handle, 0, SIZE, 0x51, 1));
	ASSERT_EQ(0, trn_copy(self->b, self->qb, self->back.handle, 0, imported, 0, SIZE));
	EXPECT_EQ(-1, trn_check_byte(self->back.map, SIZE, 0x51));
	ASSERT_EQ(0, trn_fill(self->b, self->qb, imported, 0, SIZE, 0x52, 1));
	if (self->bo.map)
		EXPECT_EQ(-1, trn_check_byte(self->bo.map, SIZE, 0x52));
	/* Bounds are those of the buffer. */
	EXPECT_EQ(-EINVAL, trn_fill(self->b, self->qb, imported, SIZE - 1, 2, 0, 1));
}

TEST_F(prime, mapped_by_importer)
{
	__u32 imported;
	__u8 *p;
	int fd;

	if (!self->bo.map)
		SKIP(return, "cannot be mapped");
	ASSERT_EQ(0, trn_export(self->a, self->bo.handle, &fd));
	ASSERT_EQ(0, trn_import(self->b, fd, &imported));
	p = trn_map(self->b, imported, SIZE);
	ASSERT_NE(MAP_FAILED, p);
	p[77] = 0x99;
	__sync_synchronize();
	EXPECT_EQ(0x99, self->bo.map[77]);
	close(fd);
}

/* C15: exporting again is the same dma-buf; importing again the same handle */
TEST_F(prime, same_object)
{
	struct stat first = {}, st;
	__u32 handle, again;
	int fd[100];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(fd); i++) {
		ASSERT_EQ(0, trn_export(self->a, self->bo.handle, &fd[i]));
		ASSERT_EQ(0, fstat(fd[i], &st));
		if (!i)
			first = st;
		EXPECT_EQ(first.st_ino, st.st_ino);
	}
	ASSERT_EQ(0, trn_import(self->a, fd[5], &handle));
	EXPECT_EQ(self->bo.handle, handle);
	ASSERT_EQ(0, trn_import(self->b, fd[5], &handle));
	ASSERT_EQ(0, trn_import(self->b, fd[6], &again));
	EXPECT_EQ(handle, again);
	for (i = 0; i < ARRAY_SIZE(fd); i++)
		close(fd[i]);
}

/* In whatever order they are closed, the last one frees it. */
TEST_F(prime, order_of_close)
{
	struct trn_snapshot base;
	unsigned int order;

	ASSERT_EQ(0, trn_snapshot(self->a, &base));
	for (order = 0; order < 6; order++) {
		struct trn_bo bo;
		__u32 imported;
		unsigned int step;
		int fd, other = trn_open(0);

		ASSERT_EQ(0, trn_bo_new(self->a, variant->placement, 0, SIZE, &bo));
		ASSERT_EQ(0, trn_export(self->a, bo.handle, &fd));
		ASSERT_EQ(0, trn_import(other, fd, &imported));
		for (step = 0; step < 3; step++) {
			if (variant->placement == TRAINIUM_BO_HBM)
				EXPECT_NE(NULL, trn_settle(self->a, &base, 0));
			/* One of the three holders, each order once */
			switch ((order / 2 + (order % 2 ? 3 - step : step)) % 3) {
			case 0:
				trn_bo_put(self->a, &bo);
				break;
			case 1:
				close(fd);
				break;
			case 2:
				close(other);
				break;
			}
		}
		EXPECT_EQ(NULL, trn_settle(self->a, &base, TRN_SEC)) {
			TH_LOG("order %u", order);
		}
	}
}

TEST_F(prime, outlives_files)
{
	struct trn_snapshot base;
	__u32 imported;
	int fd;

	ASSERT_EQ(0, trn_fill(self->a, self->qa, self->bo.handle, 0, SIZE, 0x13, 1));
	ASSERT_EQ(0, trn_export(self->a, self->bo.handle, &fd));
	if (self->bo.map)
		munmap(self->bo.map, SIZE);
	close(self->a);
	ASSERT_EQ(0, trn_import(self->b, fd, &imported));
	close(fd);
	ASSERT_EQ(0, trn_copy(self->b, self->qb, self->back.handle, 0, imported, 0, SIZE));
	EXPECT_EQ(-1, trn_check_byte(self->back.map, SIZE, 0x13));
	ASSERT_EQ(0, trn_close_handle(self->b, imported));
	ASSERT_EQ(0, trn_snapshot(self->b, &base));
	EXPECT_EQ(0, base.bo_count[0]);
	self->a = trn_open(0);
}

/* The dma-buf itself: size, mmap, sync, poll; no crash whatever is offered */
TEST_F(prime, file_operations)
{
	struct dma_buf_sync sync = { .flags = DMA_BUF_SYNC_START | DMA_BUF_SYNC_RW };
	struct pollfd poll_fd;
	char buf[16];
	__u8 *p;
	int fd;

	ASSERT_EQ(0, trn_fill(self->a, self->qa, self->bo.handle, 0, SIZE, 0x71, 1));
	ASSERT_EQ(0, trn_export(self->a, self->bo.handle, &fd));
	EXPECT_EQ(SIZE, lseek(fd, 0, SEEK_END));
	EXPECT_EQ(0, lseek(fd, 0, SEEK_SET));
	EXPECT_EQ(-1, read(fd, buf, sizeof(buf)));

	p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p != MAP_FAILED) {
		ASSERT_EQ(0, ioctl(fd, DMA_BUF_IOCTL_SYNC, &sync));
		EXPECT_EQ(-1, trn_check_byte(p, SIZE, 0x71));
		p[1] = 0x72;
		sync.flags = DMA_BUF_SYNC_END | DMA_BUF_SYNC_RW;
		ASSERT_EQ(0, ioctl(fd, DMA_BUF_IOCTL_SYNC, &sync));
		ASSERT_EQ(0, trn_copy(self->a, self->qa, self->bo.handle, 8, self->bo.handle, 0,
				      8));
		EXPECT_EQ(0x72, p[9]);
		munmap(p, SIZE);
	}
	EXPECT_EQ(MAP_FAILED, mmap(NULL, SIZE + TRN_PAGE, PROT_READ, MAP_SHARED, fd, 0));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, 2 * TRN_PAGE, PROT_READ, MAP_SHARED, fd,
				   SIZE - TRN_PAGE));
	p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	if (p != MAP_FAILED)
		munmap(p, SIZE);
	poll_fd = (struct pollfd){ .fd = fd, .events = POLLIN | POLLOUT };
	EXPECT_EQ(1, poll(&poll_fd, 1, 5000));
	close(fd);
}

/* vgem takes host memory and keeps it, and cannot take that of a device. */
TEST_F(prime, to_vgem)
{
	struct drm_trainium_op op;
	__u32 imported, fence;
	int vgem, fd;

	vgem = trn_vgem_open();
	if (vgem < 0)
		SKIP(return, "no vgem");
	ASSERT_EQ(0, trn_export(self->a, self->bo.handle, &fd));
	if (variant->placement == TRAINIUM_BO_HBM) {
		EXPECT_EQ(-EOPNOTSUPP, trn_import(vgem, fd, &imported));
	} else {
		ASSERT_EQ(0, trn_import(vgem, fd, &imported));
		/* It says that it writes: whoever reads waits. */
		ASSERT_EQ(0, trn_vgem_attach(vgem, imported, &fence));
		op = trn_op_fill(self->bo.handle, 0, SIZE, 0x61, 1);
		EXPECT_EQ(-EINPROGRESS, trn_run_for(self->a, self->qa, &op, 1, 100 * TRN_MSEC));
		ASSERT_EQ(0, trn_vgem_signal(vgem, fence));
		EXPECT_EQ(0, trn_drain(self->a, self->qa));
		EXPECT_EQ(-1, trn_check_byte(self->bo.map, SIZE, 0x61));
	}
	close(fd);
	close(vgem);
	EXPECT_EQ(0, trn_fill(self->a, self->qa, self->bo.handle, 0, SIZE, 0, 1));
}

/* The other device of this driver: host memory always, HBM where there is a way */
TEST_F(prime, between_devices)
{
	struct trn_bo back;
	__u32 imported, queue;
	int other, fd, ret;

	if (trn_num_devices() < 2)
		SKIP(return, "one device only");
	other = trn_open(1);
	ASSERT_LE(0, other);
	ASSERT_EQ(0, trn_queue_create(other, TRAINIUM_STACK_ANY, 0, &queue));
	ASSERT_EQ(0, trn_host_new(other, SIZE, &back));
	ASSERT_EQ(0, trn_fill(self->a, self->qa, self->bo.handle, 0, SIZE, 0x64, 1));
	ASSERT_EQ(0, trn_export(self->a, self->bo.handle, &fd));
	ret = trn_import(other, fd, &imported);
	if (variant->placement == TRAINIUM_BO_HBM && ret) {
		/* Whether the kernel allows it depends on where the devices are. */
		EXPECT_EQ(-EOPNOTSUPP, ret);
	} else {
		EXPECT_TRUE(variant->placement == TRAINIUM_BO_HOST ||
			    trn_has(self->a, TRAINIUM_FEATURE_P2P));
		ASSERT_EQ(0, ret);
		ASSERT_EQ(0, trn_copy(other, queue, back.handle, 0, imported, 0, SIZE));
		EXPECT_EQ(-1, trn_check_byte(back.map, SIZE, 0x64));
		ASSERT_EQ(0, trn_fill(other, queue, imported, 0, SIZE, 0x65, 1));
		if (self->bo.map)
			EXPECT_EQ(-1, trn_check_byte(self->bo.map, SIZE, 0x65));
		EXPECT_EQ(-EINVAL, trn_fill(other, queue, imported, SIZE, 1, 0, 1));
	}
	close(other);
	close(fd);
	/* The exporter's own use goes on. */
	EXPECT_EQ(0, trn_fill(self->a, self->qa, self->bo.handle, 0, SIZE, 0, 1));
}

TEST_F(prime, bad_arguments)
{
	struct drm_prime_handle arg = {};
	__u32 handle;
	int fd, null;

	EXPECT_EQ(-ENOENT, trn_export(self->a, 0, &fd));
	EXPECT_EQ(-ENOENT, trn_export(self->a, 9999, &fd));
	arg.handle = self->bo.handle;
	arg.flags = ~(DRM_CLOEXEC | DRM_RDWR);
	EXPECT_EQ(-EINVAL, trn_ioctl(self->a, DRM_IOCTL_PRIME_HANDLE_TO_FD, &arg));
	EXPECT_EQ(-EBADF, trn_import(self->b, -1, &handle));
	EXPECT_EQ(-EBADF, trn_import(self->b, 9999, &handle));
	null = open("/dev/null", O_RDWR);
	EXPECT_EQ(-EINVAL, trn_import(self->b, null, &handle));
	EXPECT_EQ(-EINVAL, trn_import(self->b, self->a, &handle));
	close(null);
}

/* Pinned pages of a process: to be shared safely or not at all */
TEST_F(prime, userptr)
{
	__u8 *p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	__u32 handle, imported;
	int fd, ret;

	ASSERT_NE(MAP_FAILED, p);
	if (trn_bo_userptr(self->a, p, SIZE, 0, &handle))
		SKIP(return, "no userptr");
	ret = trn_export(self->a, handle, &fd);
	if (ret) {
		EXPECT_TRUE(ret == -EOPNOTSUPP || ret == -EINVAL || ret == -EPERM) {
			TH_LOG("%d", ret);
		}
		return;
	}
	ASSERT_EQ(0, trn_import(self->b, fd, &imported));
	ASSERT_EQ(0, trn_fill(self->b, self->qb, imported, 0, SIZE, 0x36, 1));
	EXPECT_EQ(-1, trn_check_byte(p, SIZE, 0x36));
	close(fd);
}

FIXTURE(partner) {
	int fd;
	__u32 queue, imported;
	struct trn_partner partner;
	struct trn_bo hbm;
	int log;
};

FIXTURE_VARIANT(partner) {
	enum trn_partner_kind kind;
	__u64 size;
};

FIXTURE_VARIANT_ADD(partner, udmabuf) {
	.kind = TRN_UDMABUF,
	.size = TRN_KIB(256),
};

FIXTURE_VARIANT_ADD(partner, dma_heap) {
	.kind = TRN_DMA_HEAP,
	.size = TRN_MIB(32),
};

FIXTURE_VARIANT_ADD(partner, vgem) {
	.kind = TRN_VGEM,
	.size = TRN_MIB(4),
};

FIXTURE_SETUP(partner)
{
	int ret = trn_partner_open(&self->partner, variant->kind, variant->size);

	if (ret == -ENODEV)
		SKIP(return, "not in this kernel");
	ASSERT_EQ(0, ret);
	self->log = trn_log_open();
	self->fd = trn_open(0);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, trn_queue_create(self->fd, TRAINIUM_STACK_ANY, 0, &self->queue));
	ASSERT_EQ(0, trn_hbm_new(self->fd, 0, variant->size, &self->hbm));
	ASSERT_EQ(0, trn_import(self->fd, self->partner.buf, &self->imported));
}

FIXTURE_TEARDOWN(partner)
{
	char line[1024];

	trn_partner_close(&self->partner);
	close(self->fd);
	EXPECT_FALSE(trn_log_fault(self->log, line, sizeof(line))) {
		TH_LOG("%s", line);
	}
	close(self->log);
}

TEST_F(partner, both_ways)
{
	__u64 size = variant->size;

	trn_pattern(self->partner.map, 0, size, 6);
	ASSERT_EQ(0, trn_copy(self->fd, self->queue, self->hbm.handle, 0, self->imported, 0,
			      size));
	ASSERT_EQ(0, trn_fill(self->fd, self->queue, self->imported, 0, size, 0x35, 1));
	EXPECT_EQ(-1, trn_check_byte(self->partner.map, size, 0x35));
	ASSERT_EQ(0, trn_copy(self->fd, self->queue, self->imported, 0, self->hbm.handle, 0,
			      size));
	EXPECT_EQ(-1, trn_check(self->partner.map, 0, size, 6));
	EXPECT_EQ(-EINVAL, trn_fill(self->fd, self->queue, self->imported, 0, size + 1, 0, 1));
	EXPECT_EQ(-EINVAL, trn_fill(self->fd, self->queue, self->imported, size, 1, 0, 1));
}

TEST_F(partner, info)
{
	struct drm_trainium_bo_info info;
	struct stat a, b;
	__u32 again;
	int fd;

	ASSERT_EQ(0, trn_bo_info(self->fd, self->imported, &info));
	EXPECT_EQ(variant->size, info.size);
	EXPECT_EQ(TRAINIUM_BO_HOST, info.placement);
	EXPECT_EQ(0, info.flags);
	EXPECT_EQ(0, info.mmap_offset);
	ASSERT_EQ(0, trn_import(self->fd, self->partner.buf, &again));
	EXPECT_EQ(self->imported, again);
	/* Exported again it is what it was. */
	ASSERT_EQ(0, trn_export(self->fd, self->imported, &fd));
	ASSERT_EQ(0, fstat(fd, &a));
	ASSERT_EQ(0, fstat(self->partner.buf, &b));
	EXPECT_EQ(b.st_ino, a.st_ino);
	close(fd);
}

/* Everybody else has let go: the memory is still there. */
TEST_F(partner, outlives_exporter)
{
	trn_pattern(self->partner.map, 0, variant->size, 7);
	trn_partner_close(&self->partner);
	ASSERT_EQ(0, trn_copy(self->fd, self->queue, self->hbm.handle, 0, self->imported, 0,
			      variant->size));
	if (self->hbm.map)
		EXPECT_EQ(-1, trn_check(self->hbm.map, 0, variant->size, 7));
	ASSERT_EQ(0, trn_close_handle(self->fd, self->imported));
	ASSERT_EQ(0, trn_partner_open(&self->partner, variant->kind, variant->size));
}

/* The same memory in two devices and two files */
TEST_F(partner, several_importers)
{
	int other = trn_open(trn_num_devices() - 1);
	__u32 queue, handle;

	/* The heap maps its memory once for each importer. */
	if (variant->kind == TRN_DMA_HEAP && trn_dma_debug())
		SKIP(close(other); return, "DMA-API debugging takes a second mapping for an error");
	ASSERT_LE(0, other);
	ASSERT_EQ(0, trn_queue_create(other, TRAINIUM_STACK_ANY, 0, &queue));
	ASSERT_EQ(0, trn_import(other, self->partner.buf, &handle));
	ASSERT_EQ(0, trn_fill(self->fd, self->queue, self->imported, 0, 4096, 1, 1));
	ASSERT_EQ(0, trn_fill(other, queue, handle, 4096, 4096, 2, 1));
	ASSERT_EQ(0, trn_copy(other, queue, handle, 8192, handle, 0, 8192));
	EXPECT_EQ(-1, trn_check_byte(self->partner.map + 8192, 4096, 1));
	EXPECT_EQ(-1, trn_check_byte(self->partner.map + 12288, 4096, 2));
	close(other);
	EXPECT_EQ(0, trn_fill(self->fd, self->queue, self->imported, 0, 4096, 3, 1));
}

TEST_HARNESS_MAIN
