/* SPDX-License-Identifier: MIT */
/*
 * What the parts of the simulated driver share. All of it is protected by
 * mock_lock.
 */
#ifndef NEURON_TESTS_MOCK_INTERNAL_H
#define NEURON_TESTS_MOCK_INTERNAL_H

#include <pthread.h>

#include "mock.h"

#define MOCK_FILES 64
#define MOCK_HANDLES 256
#define MOCK_WAITS 64

struct mock_bo {
	unsigned int refs;
	unsigned int device;
	uint32_t placement, flags, stack;
	uint64_t size, generation;
	int memfd;
	void *memory;
};

/** struct mock_fence - @status: 0 not ended, 1 ended, negative error */
struct mock_fence {
	unsigned int refs;
	int status;
};

struct mock_syncobj {
	bool used;
	struct mock_fence *fence;
};

struct mock_queue {
	uint32_t id;
	struct drm_trainium_query_queue state;
	struct mock_fence *last;
	/** @list: of a command list: its work, else op_count is 0 */
	struct drm_trainium_submit list;
	/** @user: of the user class: its work has no fences */
	bool user;
	/** @word: where it tells what it has done, and who is told */
	struct mock_bo *word;
	uint64_t word_offset;
	int eventfd;
};

struct mock_file {
	int fd;
	unsigned int device;
	uint32_t next_queue;
	struct mock_bo *bo[MOCK_HANDLES];
	struct mock_syncobj syncobj[MOCK_HANDLES];
	struct mock_queue queue[MOCK_HANDLES];
};

struct mock_op {
	struct drm_trainium_op op;
	struct drm_trainium_op_strided strides;
	struct mock_bo *dst, *src;
};

struct mock_job {
	struct mock_job *next;
	struct mock_file *file;
	uint32_t queue;
	struct mock_fence *fence;
	struct mock_fence *in[MOCK_WAITS];
	unsigned int in_count;
	struct mock_op *ops;
	uint32_t op_count;
	/** @user: of a user queue */
	bool user;
	/** @at: op that it waits in */
	uint32_t at;
};

extern pthread_mutex_t mock_lock;
extern struct mock_file *mock_files[MOCK_FILES];
extern const struct nrn_backend mock_backend_template;

struct mock_file *mock_file(int fd);
struct mock_queue *mock_queue(struct mock_file *file, uint32_t id);
struct mock_bo *mock_bo(struct mock_file *file, uint32_t handle);
int mock_bo_create(struct mock_file *file, struct drm_trainium_bo_create *arg);
void mock_reset(void);
void mock_check_empty(void);

int mock_check_op(struct mock_file *file, const struct drm_trainium_op *op,
		  const struct drm_trainium_op_strided *strides);
void mock_run_op(const struct mock_op *run);
/* Whether a wait is over; what it takes is taken then. */
bool mock_wait_over(const struct mock_op *run);

void mock_completion_take(struct mock_file *file, struct mock_queue *queue,
			  const struct drm_trainium_completion *completion);
void mock_completion_tell(struct mock_queue *queue, uint64_t value);

int mock_fabric_ioctl(struct mock_file *file, unsigned long request, void *arg);
void mock_fabric_query(struct mock_file *file, struct drm_trainium_query_fabric *q);

struct mock_fence *mock_fence_new(void);
struct mock_fence *mock_fence_get(struct mock_fence *fence);
void mock_fence_put(struct mock_fence *fence);
void mock_fence_signal(struct mock_fence *fence, int status);
/* Lets go of the lock while it waits. 0 or -ETIME. */
int mock_fence_wait(struct mock_fence *fence, int64_t deadline);
struct mock_syncobj *mock_syncobj(struct mock_file *file, uint32_t handle);
void mock_syncobj_set(struct mock_syncobj *obj, struct mock_fence *fence);

int mock_take_syncs(struct mock_file *file, struct mock_job *job,
		    const struct drm_trainium_submit *arg);
int mock_syncobj_create(int fd, uint32_t *handle);
void mock_syncobj_destroy(int fd, uint32_t handle);
int mock_syncobj_wait(int fd, uint32_t handle, int64_t deadline);
int mock_syncobj_export(int fd, uint32_t handle, int *out);
int mock_syncobj_export_sync_file(int fd, uint32_t handle, int *out);
int mock_syncobj_import_sync_file(int fd, uint32_t handle, int in);
int mock_sync_file_status(int fd);

#endif
