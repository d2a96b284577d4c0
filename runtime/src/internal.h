/* SPDX-License-Identifier: MIT */
/*
 * What the files of the library share.
 */
#ifndef NEURON_INTERNAL_H
#define NEURON_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <drm/trainium_accel.h>
#include <neuron/neuron.h>

#include "backend.h"

#define DRIVER_NAME "trainium"

/* Up to here a read or write goes through a staging buffer in one piece. */
#define SMALL_TRANSFER (64u << 10)
/* Size of a staging buffer, and how many of them a device keeps. */
#define STAGING_SIZE (512u << 10)
#define STAGING_KEEP 4
/* Syncobjs that a device keeps for its next fences. */
#define SYNCOBJ_KEEP 64

/* The queues that the library itself uses on a device. */
enum nrn_own_queue {
	QUEUE_WRITE,	/* host to device, fill, device to device */
	QUEUE_READ,	/* device to host */
	OWN_QUEUES,
};

/**
 * struct nrn_staging - host buffer that reads and writes go through
 */
struct nrn_staging {
	struct neuron_buffer *buffer;
	void *data;
};

struct neuron_device {
	atomic_uint refs;
	int fd;
	/** @label: "accel0", first word of the error sentences */
	char label[NEURON_NAME_SIZE];
	char node[NEURON_PATH_SIZE];
	char pci_address[NEURON_NAME_SIZE];
	char driver[NEURON_NAME_SIZE];
	uint32_t driver_version[3];
	uint32_t accel;
	uint32_t num_stacks;
	uint64_t features;
	struct drm_trainium_query_limits limits;

	/** @lock: protects all below */
	pthread_mutex_t lock;
	/** @handle_refs: buffers of the program by GEM handle: an import of what
	 *  the file knows already gives the same handle again
	 */
	uint32_t *handle_refs;
	uint32_t handle_capacity;
	struct neuron_queue *own_queue[OWN_QUEUES];
	struct nrn_staging staging[STAGING_KEEP];
	unsigned int staging_count;
	uint32_t syncobj[SYNCOBJ_KEEP];
	unsigned int syncobj_count;
};

struct neuron_buffer {
	struct neuron_device *device;
	/** @owned: holds a reference on @device (the library's own do not) */
	bool owned;
	uint32_t handle;
	uint32_t placement;
	uint32_t flags;
	uint64_t size;

	/** @lock: protects the mapping */
	pthread_mutex_t lock;
	void *address;
	uint64_t mapped_size;
	unsigned int map_count;
	/** @kept: the library uses the mapping too, it stays until the end */
	bool kept;
};

/* How a user queue or list tells what it has done */
struct nrn_completion {
	struct neuron_buffer *buffer;
	const uint64_t *word;
	int eventfd;
};

struct neuron_queue {
	struct neuron_device *device;
	bool owned;
	uint32_t id;
	/** @completion: of the user class, else NULL */
	struct nrn_completion *completion;
	/** @told: failed jobs that callers of run and drain have been told of */
	atomic_uint_least64_t told;
	/** @list_descs: of a list: descriptors of the hardware that it takes */
	uint32_t list_descs;
};

struct neuron_fence {
	struct neuron_device *device;
	uint32_t syncobj;
	/** @shared: a descriptor of the syncobj is out, so it is not used again */
	atomic_bool shared;
	/** @done: 1 ended well, negative error; 0 not known yet */
	atomic_int done;
};

/* user.c */
int nrn_completion_create(struct neuron_device *device, struct nrn_completion **completion);
void nrn_completion_free(struct nrn_completion *completion);
void nrn_completion_tell(const struct nrn_completion *completion,
			 struct drm_trainium_completion *request);
/* submit.c: one job of a user queue */
int nrn_queue_post(struct neuron_queue *queue, const struct neuron_op *ops, uint32_t op_count,
		   uint64_t *seqno);
/* queue.c: why jobs of a user queue were lost */
int nrn_queue_lost(struct neuron_queue *queue);
/* list.c */
int nrn_list_create(struct neuron_device *device, uint32_t stack, const struct neuron_op *ops,
		    uint32_t op_count, bool user, struct neuron_list **list);

/* error.c: keeps the sentence, returns @error. */
int nrn_fail(int error, const char *format, ...) __attribute__((format(printf, 2, 3), cold));
/* Adds to the sentence of nrn_fail(). */
void nrn_fail_more(const char *format, ...) __attribute__((format(printf, 1, 2), cold));

/* struct.c */
/* Bytes of a structure up to the end of a member. */
#define NRN_SIZE_UPTO(type, member) \
	((uint32_t)(offsetof(type, member) + sizeof(((type *)0)->member)))

int nrn_copy_out(void *out, const void *in, uint32_t size, uint32_t min_size, const char *what);
int nrn_take_options(void *out, uint32_t size, const void *options, uint32_t min_size,
		     const char *what);
/* Deadline of a relative time; NEURON_WAIT_FOREVER stays what it is. */
int64_t nrn_deadline_after(int64_t timeout_ns);

/* sysfs.c */
struct nrn_found {
	uint32_t accel;
	int32_t numa_node;
	char pci_address[NEURON_NAME_SIZE];
	char node[NEURON_PATH_SIZE];
	bool has_node;
};

/* Devices of our driver, sorted; the caller frees the array. Count or -errno. */
int nrn_find_devices(struct nrn_found **devices);
bool nrn_module_loaded(void);

/* device.c */
struct neuron_device *nrn_device_get(struct neuron_device *device);
void nrn_device_put(struct neuron_device *device);
int nrn_device_query(struct neuron_device *device, uint32_t type, uint32_t index, void *data,
		     uint32_t size);
/* Sentence for an ioctl that failed with @error for no reason of its own. */
int nrn_device_fail(struct neuron_device *device, int error, const char *what);
/* The library's own queue, made at its first use. */
int nrn_device_own_queue(struct neuron_device *device, enum nrn_own_queue which,
			 struct neuron_queue **queue);
int nrn_device_get_syncobj(struct neuron_device *device, uint32_t *handle);
void nrn_device_put_syncobj(struct neuron_device *device, uint32_t handle, bool reuse);

/* buffer.c */
int nrn_buffer_create(struct neuron_device *device, const struct drm_trainium_bo_create *request,
		      bool owned, struct neuron_buffer **out);
void nrn_buffer_free(struct neuron_buffer *buffer);
int nrn_buffer_past_end(const struct neuron_buffer *buffer, uint64_t offset, uint64_t size)
	__attribute__((cold));
static inline int nrn_buffer_check(const struct neuron_buffer *buffer, uint64_t offset,
				   uint64_t size)
{
	if (offset <= buffer->size && size <= buffer->size - offset)
		return 0;
	return nrn_buffer_past_end(buffer, offset, size);
}

/* A buffer of a handle that the driver has just given; closes it on failure. */
int nrn_buffer_adopt(struct neuron_device *device, uint32_t handle, struct neuron_buffer **out);
/* Maps for the library's own use, until the buffer goes. */
int nrn_buffer_map_kept(struct neuron_buffer *buffer, void **address);
/* "accel0: buffer 3 (1048576 bytes)" */
struct nrn_label {
	char text[96];
};

struct nrn_label nrn_buffer_label(const struct neuron_buffer *buffer);

/* transfer.c */
void nrn_staging_free_all(struct neuron_device *device);

/* fabric.c: sentence for an ioctl of the fabric that failed */
int nrn_fabric_fail(struct neuron_device *device, int error, const char *what);

/* queue.c */
int nrn_queue_create(struct neuron_device *device, const struct neuron_queue_options *options,
		     bool owned, struct neuron_queue **out);
void nrn_queue_free(struct neuron_queue *queue);
/* Waits for all jobs so far; -EIO or -ECANCELED if any failed that nobody was told of. */
int nrn_queue_wait_all(struct neuron_queue *queue, int64_t deadline);
/* A job that was waited for failed with @error: sentence, and it counts as told. */
int nrn_queue_job_failed(struct neuron_queue *queue, int error);

/* submit.c */
int nrn_queue_run_until(struct neuron_queue *queue, const struct neuron_op *ops,
			uint32_t op_count, int64_t deadline);

/* A command list of the driver, whose id becomes that of @queue. */
int nrn_list_make(struct neuron_queue *queue, uint32_t stack, const struct neuron_op *ops,
		  uint32_t op_count);

/* fence.c */
int nrn_fence_create(struct neuron_device *device, struct neuron_fence **out);
/*
 * A syncobj of @device that stands for @fence. When it is not the fence's own,
 * *@temporary is set and the caller puts it back after use.
 */
int nrn_fence_syncobj_on(struct neuron_fence *fence, struct neuron_device *device,
			 uint32_t *handle, bool *temporary);

#endif
