// SPDX-License-Identifier: MIT
/*
 * The kernel as it is, through libdrm.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/sync_file.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <xf86drm.h>

#include "backend.h"

static int result(int ret)
{
	return ret ? -errno : 0;
}

static int drm_open(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int drm_dup(int fd)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);

	return copy < 0 ? -errno : copy;
}

static void drm_close(int fd)
{
	close(fd);
}

static int drm_node(int fd, char *path, size_t size)
{
	char link[32];
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISCHR(st.st_mode))
		return -ENODEV;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, size - 1);
	if (n < 0)
		return -errno;
	path[n] = '\0';
	return 0;
}

static int drm_version(int fd, char *name, size_t size, uint32_t version[3])
{
	drmVersionPtr v;

	errno = 0;
	v = drmGetVersion(fd);
	if (!v)
		return errno ? -errno : -ENOMEM;
	snprintf(name, size, "%.*s", v->name_len, v->name);
	version[0] = (uint32_t)v->version_major;
	version[1] = (uint32_t)v->version_minor;
	version[2] = (uint32_t)v->version_patchlevel;
	drmFreeVersion(v);
	return 0;
}

static int drm_ioctl(int fd, unsigned long request, void *arg)
{
	return result(drmIoctl(fd, request, arg));
}

static int drm_mmap(int fd, uint64_t offset, uint64_t size, void **address)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);

	if (p == MAP_FAILED)
		return -errno;
	*address = p;
	return 0;
}

static void drm_munmap(void *address, uint64_t size)
{
	munmap(address, size);
}

static int64_t drm_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static int drm_buffer_close(int fd, uint32_t handle)
{
	return result(drmCloseBufferHandle(fd, handle));
}

static int drm_buffer_export(int fd, uint32_t handle, int *out)
{
	return result(drmPrimeHandleToFD(fd, handle, DRM_CLOEXEC | DRM_RDWR, out));
}

static int drm_buffer_import(int fd, int in, uint32_t *handle)
{
	return result(drmPrimeFDToHandle(fd, in, handle));
}

static int drm_syncobj_create(int fd, uint32_t *handle)
{
	return result(drmSyncobjCreate(fd, 0, handle));
}

static void drm_syncobj_destroy(int fd, uint32_t handle)
{
	drmSyncobjDestroy(fd, handle);
}

static int drm_syncobj_wait(int fd, uint32_t handle, int64_t deadline)
{
	/* Unlike its neighbours this one returns the negative errno itself. */
	return drmSyncobjWait(fd, &handle, 1, deadline, 0, NULL);
}

static int drm_syncobj_export(int fd, uint32_t handle, int *out)
{
	return result(drmSyncobjHandleToFD(fd, handle, out));
}

static int drm_syncobj_export_sync_file(int fd, uint32_t handle, int *out)
{
	return result(drmSyncobjExportSyncFile(fd, handle, out));
}

static int drm_syncobj_import_sync_file(int fd, uint32_t handle, int in)
{
	return result(drmSyncobjImportSyncFile(fd, handle, in));
}

static int drm_sync_file_status(int fd)
{
	struct sync_file_info info = { 0 };

	if (drmIoctl(fd, SYNC_IOC_FILE_INFO, &info))
		return -errno;
	return info.status;
}

const struct nrn_backend nrn_backend_drm = {
	.sys_dir = "/sys",
	.dev_dir = "/dev/accel",
	.open = drm_open,
	.dup = drm_dup,
	.close = drm_close,
	.node = drm_node,
	.version = drm_version,
	.ioctl = drm_ioctl,
	.mmap = drm_mmap,
	.munmap = drm_munmap,
	.now = drm_now,
	.buffer_close = drm_buffer_close,
	.buffer_export = drm_buffer_export,
	.buffer_import = drm_buffer_import,
	.syncobj_create = drm_syncobj_create,
	.syncobj_destroy = drm_syncobj_destroy,
	.syncobj_wait = drm_syncobj_wait,
	.syncobj_export = drm_syncobj_export,
	.syncobj_export_sync_file = drm_syncobj_export_sync_file,
	.syncobj_import_sync_file = drm_syncobj_import_sync_file,
	.sync_file_status = drm_sync_file_status,
};

const struct nrn_backend *nrn_backend = &nrn_backend_drm;
