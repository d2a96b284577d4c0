// SPDX-License-Identifier: GPL-2.0-only
/* Syncobjs, gates that open when the test says so, and sharing by dma-buf */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <linux/dma-buf.h>
#include <linux/dma-heap.h>
#include <linux/sync_file.h>
#include <linux/udmabuf.h>

#include "trainium_util.h"

int trn_sync_create(int fd, __u32 *handle)
{
	struct drm_syncobj_create arg = {};
	int ret = trn_ioctl(fd, DRM_IOCTL_SYNCOBJ_CREATE, &arg);

	*handle = arg.handle;
	return ret;
}

int trn_sync_destroy(int fd, __u32 handle)
{
	struct drm_syncobj_destroy arg = { .handle = handle };

	return trn_ioctl(fd, DRM_IOCTL_SYNCOBJ_DESTROY, &arg);
}

int trn_sync_wait(int fd, __u32 handle, __u64 point, __s64 ns)
{
	struct drm_syncobj_timeline_wait arg = {
		.handles = trn_ptr(&handle),
		.points = trn_ptr(&point),
		.timeout_nsec = trn_now() + ns,
		.count_handles = 1,
		.flags = DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT,
	};

	return trn_ioctl(fd, DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT, &arg);
}

int trn_sync_signal(int fd, __u32 handle, __u64 point)
{
	struct drm_syncobj_timeline_array arg = {
		.handles = trn_ptr(&handle),
		.points = trn_ptr(&point),
		.count_handles = 1,
	};
	struct drm_syncobj_array binary = {
		.handles = trn_ptr(&handle),
		.count_handles = 1,
	};

	if (!point)
		return trn_ioctl(fd, DRM_IOCTL_SYNCOBJ_SIGNAL, &binary);
	return trn_ioctl(fd, DRM_IOCTL_SYNCOBJ_TIMELINE_SIGNAL, &arg);
}

int trn_sync_query(int fd, __u32 handle, __u64 *point)
{
	struct drm_syncobj_timeline_array arg = {
		.handles = trn_ptr(&handle),
		.points = trn_ptr(point),
		.count_handles = 1,
	};

	return trn_ioctl(fd, DRM_IOCTL_SYNCOBJ_QUERY, &arg);
}

static int sync_to_fd(int fd, __u32 handle, __u32 flags, int *out)
{
	struct drm_syncobj_handle arg = { .handle = handle, .flags = flags, .fd = -1 };
	int ret = trn_ioctl(fd, DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, &arg);

	*out = arg.fd;
	return ret;
}

int trn_sync_export(int fd, __u32 handle, int *out)
{
	return sync_to_fd(fd, handle, 0, out);
}

int trn_sync_export_file(int fd, __u32 handle, int *out)
{
	return sync_to_fd(fd, handle, DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_EXPORT_SYNC_FILE, out);
}

int trn_sync_import(int fd, int in, __u32 *handle)
{
	struct drm_syncobj_handle arg = { .fd = in };
	int ret = trn_ioctl(fd, DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE, &arg);

	*handle = arg.handle;
	return ret;
}

int trn_sync_file_status(int file)
{
	struct sync_file_info info = {};

	if (ioctl(file, SYNC_IOC_FILE_INFO, &info))
		return -errno;
	return info.status;
}

/* vgem_drm.h is not everywhere. */
struct vgem_attach {
	__u32 handle;
	__u32 flags;
	__u32 out_fence;
	__u32 pad;
};

struct vgem_signal {
	__u32 fence;
	__u32 flags;
};

#define VGEM_WRITE	1
#define VGEM_ATTACH	DRM_IOWR(DRM_COMMAND_BASE + 1, struct vgem_attach)
#define VGEM_SIGNAL	DRM_IOW(DRM_COMMAND_BASE + 2, struct vgem_signal)

/* Of sw_sync there is no header at all. */
struct sw_sync_fence {
	__u32 value;
	char name[32];
	__s32 fence;
};

#define SW_SYNC_CREATE_FENCE	_IOWR('W', 0, struct sw_sync_fence)
#define SW_SYNC_INC		_IOW('W', 1, __u32)

int trn_vgem_open(void)
{
	static bool tried;
	unsigned int i;

again:
	for (i = 0; i < 16; i++) {
		char path[32], name[8] = {};
		struct drm_version version = { .name = name, .name_len = sizeof(name) - 1 };
		int fd;

		snprintf(path, sizeof(path), "/dev/dri/card%u", i);
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd < 0)
			continue;
		if (!ioctl(fd, DRM_IOCTL_VERSION, &version) && !strcmp(name, "vgem"))
			return fd;
		close(fd);
	}
	if (!tried) {
		tried = true;
		if (!system("modprobe vgem 2>/dev/null"))
			goto again;
	}
	return -ENODEV;
}

int trn_vgem_attach(int vgem, __u32 handle, __u32 *fence)
{
	struct vgem_attach attach = { .handle = handle, .flags = VGEM_WRITE };
	int ret = trn_ioctl(vgem, VGEM_ATTACH, &attach);

	*fence = attach.out_fence;
	return ret;
}

int trn_vgem_signal(int vgem, __u32 fence)
{
	struct vgem_signal signal = { .fence = fence };

	return trn_ioctl(vgem, VGEM_SIGNAL, &signal);
}

/* A fence of sw_sync, which waits for as long as it takes, as the writer's of @buf */
static int gate_sw_sync(struct trn_gate *gate, int buf)
{
	struct dma_buf_import_sync_file in = { .flags = DMA_BUF_SYNC_WRITE };
	struct sw_sync_fence fence = { .value = 1, .name = "gate" };
	int ret = trn_ioctl(gate->timeline, SW_SYNC_CREATE_FENCE, &fence);

	if (ret)
		return ret;
	gate->file = fence.fence;
	in.fd = fence.fence;
	return trn_ioctl(buf, DMA_BUF_IOCTL_IMPORT_SYNC_FILE, &in);
}

static int gate_vgem(struct trn_gate *gate, int buf)
{
	struct dma_buf_export_sync_file out = { .flags = DMA_BUF_SYNC_READ, .fd = -1 };
	int ret = trn_vgem_attach(gate->vgem, gate->handle, &gate->fence);

	if (!ret)
		ret = trn_ioctl(buf, DMA_BUF_IOCTL_EXPORT_SYNC_FILE, &out);
	gate->file = out.fd;
	return ret;
}

int trn_gate_open(struct trn_gate *gate)
{
	struct drm_mode_create_dumb dumb = { .width = 64, .height = 16, .bpp = 32 };
	int ret, buf;

	gate->file = -1;
	gate->vgem = trn_vgem_open();
	if (gate->vgem < 0)
		return gate->vgem;
	gate->timeline = open("/sys/kernel/debug/sync/sw_sync", O_RDWR | O_CLOEXEC);
	ret = trn_ioctl(gate->vgem, DRM_IOCTL_MODE_CREATE_DUMB, &dumb);
	if (ret)
		goto err;
	gate->handle = dumb.handle;
	ret = trn_export(gate->vgem, dumb.handle, &buf);
	if (ret)
		goto err;
	ret = gate->timeline >= 0 ? gate_sw_sync(gate, buf) : gate_vgem(gate, buf);
	close(buf);
	if (!ret)
		return 0;
err:
	trn_gate_close(gate);
	return ret;
}

int trn_gate_sync(struct trn_gate *gate, int fd, __u32 *handle)
{
	struct drm_syncobj_handle arg = {
		.flags = DRM_SYNCOBJ_FD_TO_HANDLE_FLAGS_IMPORT_SYNC_FILE,
		.fd = gate->file,
	};
	int ret;

	ret = trn_sync_create(fd, handle);
	if (ret)
		return ret;
	arg.handle = *handle;
	return trn_ioctl(fd, DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE, &arg);
}

int trn_gate_export(struct trn_gate *gate, int *out)
{
	return trn_export(gate->vgem, gate->handle, out);
}

int trn_gate_release(struct trn_gate *gate)
{
	__u32 by = 1;

	return gate->timeline >= 0 ? trn_ioctl(gate->timeline, SW_SYNC_INC, &by) :
				     trn_vgem_signal(gate->vgem, gate->fence);
}

void trn_gate_close(struct trn_gate *gate)
{
	close(gate->file);
	close(gate->timeline);
	close(gate->vgem);
}

static void *map_vgem(int vgem, __u32 handle, __u64 size)
{
	struct drm_mode_map_dumb arg = { .handle = handle };

	if (ioctl(vgem, DRM_IOCTL_MODE_MAP_DUMB, &arg))
		return MAP_FAILED;
	return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, vgem, arg.offset);
}

static int make_udmabuf(struct trn_partner *p)
{
	struct udmabuf_create create = { .size = p->size, .flags = UDMABUF_FLAGS_CLOEXEC };
	int memfd;

	p->dev = open("/dev/udmabuf", O_RDWR | O_CLOEXEC);
	if (p->dev < 0)
		return -ENODEV;
	memfd = memfd_create("partner", MFD_ALLOW_SEALING);
	if (memfd < 0 || ftruncate(memfd, p->size) || fcntl(memfd, F_ADD_SEALS, F_SEAL_SHRINK))
		return -errno;
	p->map = mmap(NULL, p->size, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
	create.memfd = memfd;
	p->buf = ioctl(p->dev, UDMABUF_CREATE, &create);
	close(memfd);
	return p->buf < 0 ? -errno : 0;
}

static int make_heap(struct trn_partner *p)
{
	struct dma_heap_allocation_data data = {
		.len = p->size,
		.fd_flags = O_RDWR | O_CLOEXEC,
	};

	p->dev = open("/dev/dma_heap/system", O_RDONLY | O_CLOEXEC);
	if (p->dev < 0)
		return -ENODEV;
	if (ioctl(p->dev, DMA_HEAP_IOCTL_ALLOC, &data))
		return -errno;
	p->buf = data.fd;
	p->map = mmap(NULL, p->size, PROT_READ | PROT_WRITE, MAP_SHARED, p->buf, 0);
	return 0;
}

static int make_vgem(struct trn_partner *p)
{
	struct drm_mode_create_dumb dumb = { .width = 1024, .height = p->size / 4096, .bpp = 32 };

	p->dev = trn_vgem_open();
	if (p->dev < 0)
		return -ENODEV;
	if (ioctl(p->dev, DRM_IOCTL_MODE_CREATE_DUMB, &dumb))
		return -errno;
	p->map = map_vgem(p->dev, dumb.handle, p->size);
	return trn_export(p->dev, dumb.handle, &p->buf);
}

int trn_partner_open(struct trn_partner *partner, enum trn_partner_kind kind, __u64 size)
{
	int ret = -EINVAL;

	*partner = (struct trn_partner){ .dev = -1, .buf = -1, .size = size, .map = MAP_FAILED };
	switch (kind) {
	case TRN_UDMABUF:
		ret = make_udmabuf(partner);
		break;
	case TRN_DMA_HEAP:
		ret = make_heap(partner);
		break;
	case TRN_VGEM:
		ret = make_vgem(partner);
		break;
	}
	if (!ret && partner->map == MAP_FAILED)
		ret = -errno;
	return ret;
}

void trn_partner_close(struct trn_partner *partner)
{
	if (partner->map != MAP_FAILED)
		munmap(partner->map, partner->size);
	close(partner->buf);
	close(partner->dev);
}

int trn_export(int fd, __u32 handle, int *out)
{
	struct drm_prime_handle arg = {
		.handle = handle,
		.flags = DRM_CLOEXEC | DRM_RDWR,
		.fd = -1,
	};
	int ret = trn_ioctl(fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &arg);

	*out = arg.fd;
	return ret;
}

int trn_import(int fd, int in, __u32 *handle)
{
	struct drm_prime_handle arg = { .fd = in };
	int ret = trn_ioctl(fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &arg);

	*handle = arg.handle;
	return ret;
}
