// SPDX-License-Identifier: MIT
/*
 * Fences, syncobjs and sync_files of the simulated driver. A sync_file is an
 * empty memfd, so that it has an inode to be recognised by.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "mock_internal.h"

#define SYNC_FILES 1024

static pthread_cond_t signalled = PTHREAD_COND_INITIALIZER;
static struct {
	ino_t inode;
	struct mock_fence *fence;
} sync_files[SYNC_FILES];

struct mock_fence *mock_fence_new(void)
{
	struct mock_fence *fence = calloc(1, sizeof(*fence));

	fence->refs = 1;
	return fence;
}

struct mock_fence *mock_fence_get(struct mock_fence *fence)
{
	fence->refs++;
	return fence;
}

void mock_fence_put(struct mock_fence *fence)
{
	if (--fence->refs == 0)
		free(fence);
}

void mock_fence_signal(struct mock_fence *fence, int status)
{
	fence->status = status;
	pthread_cond_broadcast(&signalled);
}

int mock_fence_wait(struct mock_fence *fence, int64_t deadline)
{
	struct timespec step;

	while (!fence->status) {
		if (mock_backend_template.now() >= deadline)
			return -ETIME;
		clock_gettime(CLOCK_REALTIME, &step);
		step.tv_nsec += 1000000;
		if (step.tv_nsec >= 1000000000) {
			step.tv_nsec -= 1000000000;
			step.tv_sec++;
		}
		pthread_cond_timedwait(&signalled, &mock_lock, &step);
	}
	return 0;
}

struct mock_syncobj *mock_syncobj(struct mock_file *file, uint32_t handle)
{
	if (!handle || handle >= MOCK_HANDLES || !file->syncobj[handle].used)
		return NULL;
	return &file->syncobj[handle];
}

void mock_syncobj_set(struct mock_syncobj *obj, struct mock_fence *fence)
{
	if (obj->fence)
		mock_fence_put(obj->fence);
	obj->fence = fence ? mock_fence_get(fence) : NULL;
}

int mock_syncobj_create(int fd, uint32_t *handle)
{
	struct mock_file *file;
	uint32_t i;

	pthread_mutex_lock(&mock_lock);
	file = mock_file(fd);
	for (i = 1; i < MOCK_HANDLES && file->syncobj[i].used; i++)
		;
	if (i < MOCK_HANDLES) {
		file->syncobj[i].used = true;
		mock.syncobj_creates++;
		*handle = i;
	}
	pthread_mutex_unlock(&mock_lock);
	return i < MOCK_HANDLES ? 0 : -ENOMEM;
}

void mock_syncobj_destroy(int fd, uint32_t handle)
{
	struct mock_syncobj *obj;

	pthread_mutex_lock(&mock_lock);
	obj = mock_syncobj(mock_file(fd), handle);
	assert_non_null(obj);
	mock_syncobj_set(obj, NULL);
	obj->used = false;
	pthread_mutex_unlock(&mock_lock);
}

int mock_syncobj_wait(int fd, uint32_t handle, int64_t deadline)
{
	struct mock_syncobj *obj;
	struct mock_fence *fence;
	int ret = -EINVAL;

	pthread_mutex_lock(&mock_lock);
	obj = mock_syncobj(mock_file(fd), handle);
	if (obj && obj->fence) {
		fence = mock_fence_get(obj->fence);
		ret = mock_fence_wait(fence, deadline);
		mock_fence_put(fence);
	}
	pthread_mutex_unlock(&mock_lock);
	return ret;
}

int mock_syncobj_export(int fd, uint32_t handle, int *out)
{
	return mock_syncobj_export_sync_file(fd, handle, out);
}

int mock_syncobj_export_sync_file(int fd, uint32_t handle, int *out)
{
	struct mock_syncobj *obj;
	struct stat st;
	unsigned int i;
	int ret = -EINVAL;

	if (mock.export_error)
		return mock.export_error;
	pthread_mutex_lock(&mock_lock);
	obj = mock_syncobj(mock_file(fd), handle);
	if (obj && obj->fence) {
		*out = memfd_create("sync_file", MFD_CLOEXEC);
		assert_int_equal(fstat(*out, &st), 0);
		/* Numbers of inodes that are gone come again. */
		for (i = 0; i < SYNC_FILES && sync_files[i].fence; i++)
			if (sync_files[i].inode == st.st_ino)
				break;
		assert_true(i < SYNC_FILES);
		if (sync_files[i].fence)
			mock_fence_put(sync_files[i].fence);
		sync_files[i].inode = st.st_ino;
		sync_files[i].fence = mock_fence_get(obj->fence);
		ret = 0;
	}
	pthread_mutex_unlock(&mock_lock);
	return ret;
}

static struct mock_fence *find_sync_file(int fd)
{
	struct stat st;
	unsigned int i;

	if (fstat(fd, &st))
		return NULL;
	for (i = 0; i < SYNC_FILES && sync_files[i].fence; i++)
		if (sync_files[i].inode == st.st_ino)
			return sync_files[i].fence;
	return NULL;
}

int mock_syncobj_import_sync_file(int fd, uint32_t handle, int in)
{
	struct mock_fence *fence;

	pthread_mutex_lock(&mock_lock);
	fence = find_sync_file(in);
	if (fence)
		mock_syncobj_set(mock_syncobj(mock_file(fd), handle), fence);
	pthread_mutex_unlock(&mock_lock);
	return fence ? 0 : -EINVAL;
}

int mock_sync_file_status(int fd)
{
	struct mock_fence *fence;
	int status;

	pthread_mutex_lock(&mock_lock);
	fence = find_sync_file(fd);
	status = fence ? fence->status : -EINVAL;
	pthread_mutex_unlock(&mock_lock);
	return status;
}

int mock_take_syncs(struct mock_file *file, struct mock_job *job,
		    const struct drm_trainium_submit *arg)
{
	const struct drm_trainium_sync *sync = (const void *)(uintptr_t)arg->in_syncs;
	struct mock_syncobj *obj;
	unsigned int i;

	for (i = 0; i < arg->in_sync_count; i++) {
		obj = mock_syncobj(file, sync[i].handle);
		if (!obj)
			return -ENOENT;
		if (sync[i].flags || sync[i].point || !obj->fence)
			return -EINVAL;
		job->in[job->in_count++] = mock_fence_get(obj->fence);
	}
	sync = (const void *)(uintptr_t)arg->out_syncs;
	for (i = 0; i < arg->out_sync_count; i++) {
		obj = mock_syncobj(file, sync[i].handle);
		if (!obj)
			return -ENOENT;
		if (sync[i].flags || sync[i].point)
			return -EINVAL;
		mock_syncobj_set(obj, job->fence);
	}
	return 0;
}
