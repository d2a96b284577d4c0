// SPDX-License-Identifier: MIT
/*
 * Moving bytes between memory of the program and a buffer.
 *
 * What the CPU can reach as ordinary memory is copied by the CPU. For HBM
 * there are two ways, both by DMA: through a host buffer that the device keeps
 * (one copy more, nothing to set up), or from the program's pages where they
 * are (pinned for the time of the call). Pinning costs less than copying from
 * a few pages on; it is not remembered from call to call, because nothing
 * tells the library when the program unmaps the pages.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "internal.h"

static int staging_get(struct neuron_device *device, struct nrn_staging *staging)
{
	const struct drm_trainium_bo_create request = {
		.size = STAGING_SIZE,
		.placement = TRAINIUM_BO_HOST,
	};
	bool found = false;
	int ret;

	pthread_mutex_lock(&device->lock);
	if (device->staging_count) {
		*staging = device->staging[--device->staging_count];
		found = true;
	}
	pthread_mutex_unlock(&device->lock);
	if (found)
		return 0;
	ret = nrn_buffer_create(device, &request, false, &staging->buffer);
	if (ret)
		return ret;
	ret = nrn_buffer_map_kept(staging->buffer, &staging->data);
	if (ret)
		nrn_buffer_free(staging->buffer);
	return ret;
}

static void staging_put(struct neuron_device *device, const struct nrn_staging *staging)
{
	bool kept = false;

	pthread_mutex_lock(&device->lock);
	if (device->staging_count < STAGING_KEEP) {
		device->staging[device->staging_count++] = *staging;
		kept = true;
	}
	pthread_mutex_unlock(&device->lock);
	if (!kept)
		nrn_buffer_free(staging->buffer);
}

void nrn_staging_free_all(struct neuron_device *device)
{
	while (device->staging_count)
		nrn_buffer_free(device->staging[--device->staging_count].buffer);
}

static int run_copy(struct neuron_queue *queue, struct neuron_buffer *dst, uint64_t dst_offset,
		    struct neuron_buffer *src, uint64_t src_offset, uint64_t size)
{
	const struct neuron_op op = {
		.type = NEURON_OP_COPY,
		.dst = dst,
		.dst_offset = dst_offset,
		.src = src,
		.src_offset = src_offset,
		.size = size,
	};

	return nrn_queue_run_until(queue, &op, 1, NEURON_WAIT_FOREVER);
}

/*
 * One transfer between @buffer and the program. The program's side is only
 * written when @read is set; then, and only then, it may be.
 */
struct transfer {
	struct neuron_queue *queue;
	struct neuron_buffer *buffer;
	uint64_t offset;
	unsigned char *data;
	uint64_t size;
	bool read;
};

static int transfer_staged(const struct transfer *t)
{
	struct nrn_staging staging;
	uint64_t done = 0, piece;
	int ret;

	ret = staging_get(t->buffer->device, &staging);
	while (!ret && done < t->size) {
		piece = t->size - done < STAGING_SIZE ? t->size - done : STAGING_SIZE;
		if (t->read) {
			ret = run_copy(t->queue, staging.buffer, 0, t->buffer, t->offset + done,
				       piece);
			if (!ret)
				memcpy(t->data + done, staging.data, piece);
		} else {
			memcpy(staging.data, t->data + done, piece);
			ret = run_copy(t->queue, t->buffer, t->offset + done, staging.buffer, 0,
				       piece);
		}
		done += piece;
		if (ret || done == t->size)
			staging_put(t->buffer->device, &staging);
	}
	return ret;
}

/* Can the other way help when pinning failed with @error? */
static bool staging_helps(int error)
{
	return error != -ENODEV && error != -EIO && error != -ECANCELED;
}

static int transfer_pinned(const struct transfer *t, bool *pinned)
{
	const struct drm_trainium_bo_create request = {
		.size = t->size,
		.placement = TRAINIUM_BO_USERPTR,
		.flags = t->read ? 0 : TRAINIUM_BO_F_READ_ONLY,
		.userptr = (uintptr_t)t->data,
	};
	struct neuron_buffer *user;
	int ret;

	ret = nrn_buffer_create(t->buffer->device, &request, false, &user);
	*pinned = !ret;
	if (ret)
		return ret;
	if (t->read)
		ret = run_copy(t->queue, user, 0, t->buffer, t->offset, t->size);
	else
		ret = run_copy(t->queue, t->buffer, t->offset, user, 0, t->size);
	nrn_buffer_free(user);
	return ret;
}

static int transfer_dma(struct transfer *t)
{
	struct neuron_device *device = t->buffer->device;
	bool pinned;
	int ret;

	ret = nrn_device_own_queue(device, t->read ? QUEUE_READ : QUEUE_WRITE, &t->queue);
	if (ret)
		return ret;
	if (t->size > SMALL_TRANSFER && device->features & NEURON_FEATURE_USERPTR) {
		ret = transfer_pinned(t, &pinned);
		if (pinned || !staging_helps(ret))
			return ret;
	}
	return transfer_staged(t);
}

static int transfer(struct transfer *t, const char *name)
{
	void *address;
	int ret;

	if (!t->buffer || (!t->data && t->size))
		return nrn_fail(-EINVAL, "%s: no %s (NULL)", name, t->buffer ? "data" : "buffer");
	ret = nrn_buffer_check(t->buffer, t->offset, t->size);
	if (ret || !t->size)
		return ret;
	if (!t->read && t->buffer->flags & NEURON_BUFFER_READ_ONLY)
		return nrn_fail(-EINVAL, "%s: is read-only", nrn_buffer_label(t->buffer).text);
	if (t->buffer->placement == NEURON_HBM)
		return transfer_dma(t);
	ret = nrn_buffer_map_kept(t->buffer, &address);
	if (ret == -EOPNOTSUPP)
		return transfer_dma(t);
	if (ret)
		return ret;
	if (t->read)
		memcpy(t->data, (unsigned char *)address + t->offset, t->size);
	else
		memcpy((unsigned char *)address + t->offset, t->data, t->size);
	return 0;
}

int neuron_buffer_write(struct neuron_buffer *buffer, uint64_t offset, const void *data,
			uint64_t size)
{
	struct transfer t = {
		.buffer = buffer,
		.offset = offset,
		.data = (unsigned char *)(uintptr_t)data,
		.size = size,
	};

	return transfer(&t, __func__);
}

int neuron_buffer_read(struct neuron_buffer *buffer, uint64_t offset, void *data, uint64_t size)
{
	struct transfer t = {
		.buffer = buffer,
		.offset = offset,
		.data = data,
		.size = size,
		.read = true,
	};

	return transfer(&t, __func__);
}

int neuron_buffer_fill(struct neuron_buffer *buffer, uint64_t offset, uint64_t size,
		       uint64_t pattern, uint32_t pattern_size)
{
	struct neuron_queue *queue;
	int ret;

	if (!buffer)
		return nrn_fail(-EINVAL, "%s: no buffer (NULL)", __func__);
	if (!size)
		return nrn_buffer_check(buffer, offset, size);
	ret = nrn_device_own_queue(buffer->device, QUEUE_WRITE, &queue);
	return ret ? ret : neuron_queue_fill(queue, buffer, offset, size, pattern, pattern_size);
}

int neuron_buffer_copy(struct neuron_buffer *dst, uint64_t dst_offset, struct neuron_buffer *src,
		       uint64_t src_offset, uint64_t size)
{
	struct neuron_queue *queue;
	int ret;

	if (!dst || !src)
		return nrn_fail(-EINVAL, "%s: no %s (NULL)", __func__,
				dst ? "source" : "destination");
	if (!size) {
		ret = nrn_buffer_check(dst, dst_offset, size);
		return ret ? ret : nrn_buffer_check(src, src_offset, size);
	}
	ret = nrn_device_own_queue(dst->device, QUEUE_WRITE, &queue);
	return ret ? ret : run_copy(queue, dst, dst_offset, src, src_offset, size);
}
