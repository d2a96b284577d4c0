// SPDX-License-Identifier: MIT
/*
 * Buffers: life, mapping, sharing. Moving bytes is in transfer.c.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "internal.h"

_Static_assert((int)NEURON_HBM == TRAINIUM_BO_HBM, "placement");
_Static_assert((int)NEURON_HOST == TRAINIUM_BO_HOST, "placement");
_Static_assert((int)NEURON_USERPTR == TRAINIUM_BO_USERPTR, "placement");
_Static_assert(NEURON_BUFFER_CPU_VISIBLE == TRAINIUM_BO_F_CPU_VISIBLE, "flags");
_Static_assert(NEURON_BUFFER_READ_ONLY == TRAINIUM_BO_F_READ_ONLY, "flags");
_Static_assert(NEURON_BUFFER_NEAR_ENGINE == TRAINIUM_BO_F_NEAR_ENGINE, "flags");
_Static_assert(NEURON_BUFFER_PEER == TRAINIUM_BO_F_PEER, "flags");
_Static_assert((int)NEURON_PEER == TRAINIUM_BO_PEER, "placement");
_Static_assert((int)NEURON_GROUP == TRAINIUM_BO_GROUP, "placement");

#define CREATE_FLAGS \
	(NEURON_BUFFER_CPU_VISIBLE | NEURON_BUFFER_NEAR_ENGINE | NEURON_BUFFER_PEER)
#define OPTIONS_MIN	NRN_SIZE_UPTO(struct neuron_buffer_options, alignment)
#define INFO_MIN	NRN_SIZE_UPTO(struct neuron_buffer_info, content_generation)

struct nrn_label nrn_buffer_label(const struct neuron_buffer *buffer)
{
	struct nrn_label label;

	snprintf(label.text, sizeof(label.text), "%s: buffer %u (%" PRIu64 " bytes)",
		 buffer->device->label, buffer->handle, buffer->size);
	return label;
}

int nrn_buffer_past_end(const struct neuron_buffer *buffer, uint64_t offset, uint64_t size)
{
	return nrn_fail(-EINVAL, "%s: offset %" PRIu64 " + size %" PRIu64 " is past its end",
			nrn_buffer_label(buffer).text, offset, size);
}

/*
 * One more buffer stands on @handle. An import gives the handle that the file
 * knows the memory by already, if there is one, so handles are counted.
 */
static int handle_get(struct neuron_device *device, uint32_t handle)
{
	uint32_t capacity = device->handle_capacity;
	uint32_t *grown;

	if (handle >= capacity) {
		capacity = handle + 64;
		grown = realloc(device->handle_refs, capacity * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		memset(grown + device->handle_capacity, 0,
		       (capacity - device->handle_capacity) * sizeof(*grown));
		device->handle_refs = grown;
		device->handle_capacity = capacity;
	}
	device->handle_refs[handle]++;
	return 0;
}

static void handle_put(struct neuron_device *device, uint32_t handle)
{
	pthread_mutex_lock(&device->lock);
	if (--device->handle_refs[handle] == 0)
		nrn_backend->buffer_close(device->fd, handle);
	pthread_mutex_unlock(&device->lock);
}

static struct neuron_buffer *buffer_new(struct neuron_device *device)
{
	struct neuron_buffer *buffer = calloc(1, sizeof(*buffer));

	if (!buffer)
		return NULL;
	buffer->device = device;
	pthread_mutex_init(&buffer->lock, NULL);
	return buffer;
}

static void buffer_delete(struct neuron_buffer *buffer)
{
	pthread_mutex_destroy(&buffer->lock);
	free(buffer);
}

/* Sentence with what there was to have, for a create that failed with @error. */
static int create_failed(struct neuron_device *device, int error,
			 const struct drm_trainium_bo_create *request)
{
	struct neuron_memory_info memory = { .size = sizeof(memory) };
	char where[32] = "any HBM stack";
	struct rlimit limit;

	switch (error) {
	case -ENOSPC:
		if (request->stack != TRAINIUM_STACK_ANY)
			snprintf(where, sizeof(where), "HBM stack %u", request->stack);
		if (neuron_device_get_memory(device, request->stack, &memory))
			break;
		return nrn_fail(error,
				"%s: no %" PRIu64 " contiguous bytes in %s: %" PRIu64
				" of %" PRIu64 " bytes are free, the largest range is %" PRIu64,
				device->label, (uint64_t)request->size, where, memory.free,
				memory.total, memory.largest_free);
	case -ENOMEM:
		if (request->placement != TRAINIUM_BO_USERPTR || getrlimit(RLIMIT_MEMLOCK, &limit))
			break;
		return nrn_fail(error,
				"%s: %" PRIu64 " bytes at 0x%" PRIx64
				" cannot be pinned: out of host memory, or RLIMIT_MEMLOCK (%" PRIu64
				" bytes) is too low",
				device->label, (uint64_t)request->size, (uint64_t)request->userptr,
				(uint64_t)limit.rlim_cur);
	case -EFAULT:
		return nrn_fail(error,
				"%s: %" PRIu64 " bytes at 0x%" PRIx64
				" cannot be pinned: not all of it is %s memory",
				device->label, (uint64_t)request->size, (uint64_t)request->userptr,
				request->flags & TRAINIUM_BO_F_READ_ONLY ? "readable" : "writable");
	case -EDQUOT:
		return nrn_fail(error,
				"%s: no buffer of %" PRIu64 " bytes: an open device may have %u buffers, %"
				PRIu64 " bytes of HBM, %" PRIu64
				" of host memory (0: any), a cgroup less",
				device->label, (uint64_t)request->size, device->limits.max_buffers,
				(uint64_t)device->limits.max_hbm,
				(uint64_t)device->limits.max_pinned);
	default:
		break;
	}
	if (error == -ENODEV)
		return nrn_device_fail(device, error, "create of a buffer");
	return nrn_fail(error, "%s: no buffer of %" PRIu64 " bytes: %s (%s)", device->label,
			(uint64_t)request->size, neuron_strerror(error), neuron_error_name(error));
}

int nrn_buffer_create(struct neuron_device *device, const struct drm_trainium_bo_create *request,
		      bool owned, struct neuron_buffer **out)
{
	struct drm_trainium_bo_create create = *request;
	struct neuron_buffer *buffer;
	int ret;

	buffer = buffer_new(device);
	if (!buffer)
		return nrn_fail(-ENOMEM, "%s: out of memory", device->label);
	ret = nrn_backend->ioctl(device->fd, DRM_IOCTL_TRAINIUM_BO_CREATE, &create);
	if (ret) {
		buffer_delete(buffer);
		return create_failed(device, ret, request);
	}
	pthread_mutex_lock(&device->lock);
	ret = handle_get(device, create.handle);
	pthread_mutex_unlock(&device->lock);
	if (ret) {
		nrn_backend->buffer_close(device->fd, create.handle);
		buffer_delete(buffer);
		return nrn_fail(ret, "%s: out of memory", device->label);
	}
	buffer->handle = create.handle;
	buffer->placement = request->placement;
	buffer->flags = request->flags;
	buffer->size = request->size;
	buffer->owned = owned;
	if (owned)
		nrn_device_get(device);
	*out = buffer;
	return 0;
}

int neuron_buffer_create(struct neuron_device *device, enum neuron_placement placement,
			 uint64_t size, const struct neuron_buffer_options *options,
			 struct neuron_buffer **buffer)
{
	struct neuron_buffer_options given = { .stack = NEURON_STACK_ANY };
	struct drm_trainium_bo_create request = { .size = size, .placement = placement };
	uint64_t limit;
	int ret;

	if (!device || !buffer)
		return nrn_fail(-EINVAL, "%s: no %s (NULL)", __func__,
				device ? "place for the buffer" : "device");
	limit = device->limits.max_bo_size;
	if (placement != NEURON_HBM && placement != NEURON_HOST)
		return nrn_fail(-EINVAL, "%s: placement %d is neither NEURON_HBM nor NEURON_HOST",
				device->label, (int)placement);
	if (!size)
		return nrn_fail(-EINVAL, "%s: a buffer of 0 bytes", device->label);
	if (options) {
		ret = nrn_take_options(&given, sizeof(given), options, OPTIONS_MIN,
				       "neuron_buffer_options");
		if (ret)
			return ret;
	}
	if (given.flags & ~CREATE_FLAGS || given.reserved)
		return nrn_fail(-EINVAL, "%s: unknown flags 0x%x in neuron_buffer_options",
				device->label, given.flags);
	if (given.alignment & (given.alignment - 1))
		return nrn_fail(-EINVAL, "%s: alignment %" PRIu64 " is not a power of two",
				device->label, given.alignment);
	if (placement == NEURON_HBM) {
		/* Near an engine it is the number of that engine, which the driver checks. */
		if (!(given.flags & NEURON_BUFFER_NEAR_ENGINE) &&
		    given.stack != NEURON_STACK_ANY && given.stack >= device->num_stacks)
			return nrn_fail(-EINVAL, "%s: HBM stack %u does not exist: there are %u",
					device->label, given.stack, device->num_stacks);
		if (limit && size > limit)
			return nrn_fail(-ENOSPC,
					"%s: a buffer of %" PRIu64 " bytes is larger than the %"
					PRIu64 " that a stack of HBM can hold",
					device->label, size, limit);
		request.stack = given.stack;
		request.alignment = given.alignment;
		request.flags = given.flags;
	} else if (given.alignment || (given.stack && given.stack != NEURON_STACK_ANY)) {
		return nrn_fail(-EINVAL, "%s: stack and alignment are for HBM only",
				device->label);
	}
	return nrn_buffer_create(device, &request, true, buffer);
}

int neuron_buffer_create_userptr(struct neuron_device *device, void *address, uint64_t size,
				 uint32_t flags, struct neuron_buffer **buffer)
{
	struct drm_trainium_bo_create request = {
		.size = size,
		.placement = TRAINIUM_BO_USERPTR,
		.flags = flags,
		.userptr = (uintptr_t)address,
	};
	int ret;

	if (!device || !buffer)
		return nrn_fail(-EINVAL, "%s: no %s (NULL)", __func__,
				device ? "place for the buffer" : "device");
	if (!address || !size || size > UINT64_MAX - (uintptr_t)address)
		return nrn_fail(-EINVAL, "%s: %" PRIu64 " bytes at %p are no range of memory",
				device->label, size, address);
	if (flags & ~NEURON_BUFFER_READ_ONLY)
		return nrn_fail(-EINVAL, "%s: unknown flags 0x%x for a userptr buffer",
				device->label, flags);
	if (!(device->features & NEURON_FEATURE_USERPTR))
		return nrn_fail(-EOPNOTSUPP, "%s: the driver offers no userptr buffers",
				device->label);
	ret = nrn_buffer_create(device, &request, true, buffer);
	if (!ret)
		(*buffer)->address = address;
	return ret;
}

void nrn_buffer_free(struct neuron_buffer *buffer)
{
	struct neuron_device *device = buffer->device;
	bool owned = buffer->owned;

	if (buffer->mapped_size)
		nrn_backend->munmap(buffer->address, buffer->mapped_size);
	handle_put(device, buffer->handle);
	buffer_delete(buffer);
	if (owned)
		nrn_device_put(device);
}

void neuron_buffer_destroy(struct neuron_buffer *buffer)
{
	if (buffer)
		nrn_buffer_free(buffer);
}

static int query_info(struct neuron_buffer *buffer, struct drm_trainium_bo_info *info)
{
	int ret;

	memset(info, 0, sizeof(*info));
	info->handle = buffer->handle;
	ret = nrn_backend->ioctl(buffer->device->fd, DRM_IOCTL_TRAINIUM_BO_INFO, info);
	return ret ? nrn_device_fail(buffer->device, ret, "query of a buffer") : 0;
}

int neuron_buffer_get_info(struct neuron_buffer *buffer, struct neuron_buffer_info *info)
{
	struct neuron_buffer_info full = { 0 };
	struct drm_trainium_bo_info q;
	int ret;

	if (!buffer)
		return nrn_fail(-EINVAL, "%s: no buffer (NULL)", __func__);
	ret = query_info(buffer, &q);
	if (ret)
		return ret;
	full.placement = q.placement;
	full.bytes = buffer->size;
	full.handle = buffer->handle;
	full.flags = q.flags;
	full.stack = q.placement == TRAINIUM_BO_HBM ? q.stack : NEURON_STACK_ANY;
	full.mappable = q.mmap_offset || q.placement == TRAINIUM_BO_USERPTR;
	full.content_generation = q.content_generation;
	return nrn_copy_out(info, &full, sizeof(full), INFO_MIN, "neuron_buffer_info");
}

uint64_t neuron_buffer_get_size(const struct neuron_buffer *buffer)
{
	if (!buffer) {
		nrn_fail(-EINVAL, "%s: no buffer (NULL)", __func__);
		return 0;
	}
	return buffer->size;
}

/* The buffer's lock is held. */
static int map_now(struct neuron_buffer *buffer)
{
	struct drm_trainium_bo_info info;
	int ret;

	ret = query_info(buffer, &info);
	if (ret)
		return ret;
	if (!info.mmap_offset)
		return nrn_fail(-EOPNOTSUPP, "%s: cannot be mapped",
				nrn_buffer_label(buffer).text);
	ret = nrn_backend->mmap(buffer->device->fd, info.mmap_offset, info.size, &buffer->address);
	if (ret)
		return nrn_fail(ret, "%s: mmap failed: %s", nrn_buffer_label(buffer).text,
				strerror(-ret));
	buffer->mapped_size = info.size;
	return 0;
}

int neuron_buffer_map(struct neuron_buffer *buffer, void **address)
{
	int ret = 0;

	if (!buffer || !address)
		return nrn_fail(-EINVAL, "%s: no %s (NULL)", __func__,
				buffer ? "place for the address" : "buffer");
	pthread_mutex_lock(&buffer->lock);
	if (!buffer->address)
		ret = map_now(buffer);
	if (!ret) {
		buffer->map_count++;
		*address = buffer->address;
	}
	pthread_mutex_unlock(&buffer->lock);
	return ret;
}

int nrn_buffer_map_kept(struct neuron_buffer *buffer, void **address)
{
	int ret = 0;

	pthread_mutex_lock(&buffer->lock);
	if (!buffer->address)
		ret = map_now(buffer);
	if (!ret) {
		buffer->kept = true;
		*address = buffer->address;
	}
	pthread_mutex_unlock(&buffer->lock);
	return ret;
}

int neuron_buffer_unmap(struct neuron_buffer *buffer)
{
	int ret = 0;

	if (!buffer)
		return nrn_fail(-EINVAL, "%s: no buffer (NULL)", __func__);
	pthread_mutex_lock(&buffer->lock);
	if (!buffer->map_count) {
		ret = nrn_fail(-EINVAL, "%s: unmap without map", nrn_buffer_label(buffer).text);
	} else if (--buffer->map_count == 0 && buffer->mapped_size && !buffer->kept) {
		nrn_backend->munmap(buffer->address, buffer->mapped_size);
		buffer->address = NULL;
		buffer->mapped_size = 0;
	}
	pthread_mutex_unlock(&buffer->lock);
	return ret;
}

int neuron_buffer_export(struct neuron_buffer *buffer, int *fd)
{
	int ret;

	if (!buffer || !fd)
		return nrn_fail(-EINVAL, "%s: no %s (NULL)", __func__,
				buffer ? "place for the descriptor" : "buffer");
	ret = nrn_backend->buffer_export(buffer->device->fd, buffer->handle, fd);
	if (ret)
		return nrn_fail(ret, "%s: cannot be exported: %s", nrn_buffer_label(buffer).text,
				neuron_strerror(ret));
	return 0;
}

/* Properties of the memory behind a handle that came from outside. */
static int fill_imported(struct neuron_buffer *buffer)
{
	struct drm_trainium_bo_info info;
	int ret = query_info(buffer, &info);

	if (ret)
		return ret;
	buffer->placement = info.placement;
	buffer->flags = info.flags;
	buffer->size = info.size;
	return 0;
}

/* @buffer has a handle that is counted; gone after an error. */
static int buffer_complete(struct neuron_buffer *buffer, struct neuron_buffer **out)
{
	int ret;

	buffer->owned = true;
	nrn_device_get(buffer->device);
	ret = fill_imported(buffer);
	if (ret) {
		nrn_buffer_free(buffer);
		return ret;
	}
	*out = buffer;
	return 0;
}

int nrn_buffer_adopt(struct neuron_device *device, uint32_t handle, struct neuron_buffer **out)
{
	struct neuron_buffer *buffer = buffer_new(device);
	int ret = buffer ? 0 : -ENOMEM;

	if (buffer) {
		buffer->handle = handle;
		pthread_mutex_lock(&device->lock);
		ret = handle_get(device, handle);
		pthread_mutex_unlock(&device->lock);
	}
	if (!ret)
		return buffer_complete(buffer, out);
	if (buffer)
		buffer_delete(buffer);
	nrn_backend->buffer_close(device->fd, handle);
	return nrn_fail(ret, "%s: out of memory", device->label);
}

static int import_failed(struct neuron_device *device, int error, int fd)
{
	switch (error) {
	case -EBADF:
	case -EINVAL:
		return nrn_fail(-EINVAL, "%s: descriptor %d is no dma-buf that can be imported",
				device->label, fd);
	case -EXDEV:
		return nrn_fail(error,
				"%s: descriptor %d is memory of a chip that the fabric has no way to",
				device->label, fd);
	default:
		return nrn_fail(error, "%s: descriptor %d cannot be imported: %s (%s)",
				device->label, fd, neuron_strerror(error),
				neuron_error_name(error));
	}
}

int neuron_buffer_import(struct neuron_device *device, int fd, struct neuron_buffer **out)
{
	struct neuron_buffer *buffer;
	int ret;

	if (!device || !out)
		return nrn_fail(-EINVAL, "%s: no %s (NULL)", __func__,
				device ? "place for the buffer" : "device");
	buffer = buffer_new(device);
	if (!buffer)
		return nrn_fail(-ENOMEM, "%s: out of memory", device->label);
	/* Under the lock no other buffer can close the handle in between. */
	pthread_mutex_lock(&device->lock);
	ret = nrn_backend->buffer_import(device->fd, fd, &buffer->handle);
	if (!ret)
		ret = handle_get(device, buffer->handle);
	pthread_mutex_unlock(&device->lock);
	if (ret) {
		buffer_delete(buffer);
		return import_failed(device, ret, fd);
	}
	return buffer_complete(buffer, out);
}
