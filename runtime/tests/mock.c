// SPDX-License-Identifier: MIT
/*
 * The simulated driver: files, buffers and jobs. Fences are in mock_sync.c,
 * the fake sysfs in mock_sysfs.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "mock_internal.h"

struct mock mock;
pthread_mutex_t mock_lock = PTHREAD_MUTEX_INITIALIZER;
struct mock_file *mock_files[MOCK_FILES];

static struct mock_job *held;
static uint64_t stack_free[2][MOCK_STACKS];

struct mock_file *mock_file(int fd)
{
	unsigned int i;

	for (i = 0; i < MOCK_FILES; i++)
		if (mock_files[i] && mock_files[i]->fd == fd)
			return mock_files[i];
	return NULL;
}

static int new_file(int fd, unsigned int device)
{
	unsigned int i;

	for (i = 0; i < MOCK_FILES; i++) {
		if (mock_files[i])
			continue;
		mock_files[i] = calloc(1, sizeof(*mock_files[i]));
		mock_files[i]->fd = fd;
		mock_files[i]->device = device;
		mock_files[i]->next_queue = 1;
		return fd;
	}
	close(fd);
	return -EMFILE;
}

static int mock_open(const char *path)
{
	const char *base = strrchr(path, '/');
	int fd;

	if (mock.open_error)
		return mock.open_error;
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	pthread_mutex_lock(&mock_lock);
	fd = new_file(fd, base && !strcmp(base, "/accel1"));
	pthread_mutex_unlock(&mock_lock);
	return fd;
}

static int mock_dup(int fd)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);

	if (copy < 0)
		return -errno;
	pthread_mutex_lock(&mock_lock);
	copy = new_file(copy, 0);
	pthread_mutex_unlock(&mock_lock);
	return copy;
}

static void bo_put(struct mock_bo *bo)
{
	if (--bo->refs)
		return;
	if (bo->placement == TRAINIUM_BO_HBM)
		stack_free[bo->device][bo->stack] += bo->size;
	if (bo->placement != TRAINIUM_BO_USERPTR)
		munmap(bo->memory, bo->size);
	if (bo->memfd >= 0)
		close(bo->memfd);
	free(bo);
}

static void mock_close(int fd)
{
	struct mock_file *file;
	unsigned int i;

	pthread_mutex_lock(&mock_lock);
	file = mock_file(fd);
	if (file) {
		for (i = 0; i < MOCK_HANDLES; i++) {
			/* The library gives back what it took. */
			assert_null(file->bo[i]);
			assert_int_equal(file->syncobj[i].used, 0);
			assert_int_equal(file->queue[i].id, 0);
		}
		for (i = 0; i < MOCK_FILES; i++)
			if (mock_files[i] == file)
				mock_files[i] = NULL;
		free(file);
	}
	pthread_mutex_unlock(&mock_lock);
	close(fd);
}

static int mock_node(int fd, char *path, size_t size)
{
	char link[32];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, size - 1);
	if (n < 0)
		return -errno;
	path[n] = '\0';
	return 0;
}

static int mock_version(int fd, char *name, size_t size, uint32_t version[3])
{
	if (!mock.driver)
		return -ENOTTY;
	assert_true(fd >= 0);
	snprintf(name, size, "%s", mock.driver);
	version[0] = 1;
	version[1] = 2;
	version[2] = 3;
	return 0;
}

struct mock_bo *mock_bo(struct mock_file *file, uint32_t handle)
{
	return handle && handle < MOCK_HANDLES ? file->bo[handle] : NULL;
}

static int new_handle(struct mock_file *file, struct mock_bo *bo, uint32_t *handle)
{
	uint32_t i;

	for (i = 1; i < MOCK_HANDLES; i++) {
		if (file->bo[i])
			continue;
		file->bo[i] = bo;
		*handle = i;
		return 0;
	}
	return -EDQUOT;
}

int mock_bo_create(struct mock_file *file, struct drm_trainium_bo_create *arg)
{
	struct mock_bo *bo;
	uint32_t stack = arg->stack;
	int ret;

	if (!arg->size || arg->placement > TRAINIUM_BO_USERPTR || arg->handle)
		return -EINVAL;
	if (arg->placement != TRAINIUM_BO_HBM && (arg->stack || arg->alignment))
		return -EINVAL;
	if (arg->placement == TRAINIUM_BO_USERPTR) {
		if (mock.userptr_error)
			return mock.userptr_error;
		mock.userptr_flags = arg->flags;
	} else {
		if (arg->userptr || arg->flags & ~(TRAINIUM_BO_F_CPU_VISIBLE | TRAINIUM_BO_F_PEER))
			return -EINVAL;
	}
	bo = calloc(1, sizeof(*bo));
	bo->refs = 1;
	bo->device = file->device;
	bo->placement = arg->placement;
	bo->flags = arg->flags;
	bo->memfd = -1;
	bo->size = arg->size;
	if (arg->placement == TRAINIUM_BO_USERPTR) {
		bo->memory = (void *)(uintptr_t)arg->userptr;
	} else {
		bo->size = (arg->size + 4095) & ~4095ull;
		if (arg->placement == TRAINIUM_BO_HBM) {
			if (stack == TRAINIUM_STACK_ANY)
				for (stack = 0; stack < MOCK_STACKS - 1; stack++)
					if (stack_free[file->device][stack] >= bo->size)
						break;
			if (stack >= MOCK_STACKS || stack_free[file->device][stack] < bo->size) {
				free(bo);
				return -ENOSPC;
			}
			bo->stack = stack;
			stack_free[file->device][stack] -= bo->size;
		}
		bo->memfd = memfd_create("bo", MFD_CLOEXEC);
		assert_int_equal(ftruncate(bo->memfd, (off_t)bo->size), 0);
		bo->memory = mmap(NULL, bo->size, PROT_READ | PROT_WRITE, MAP_SHARED, bo->memfd, 0);
		assert_true(bo->memory != MAP_FAILED);
	}
	bo->generation = mock.reset_count;
	ret = new_handle(file, bo, &arg->handle);
	if (ret)
		bo_put(bo);
	else
		mock.creates[arg->placement]++;
	return ret;
}

static int bo_info(struct mock_file *file, struct drm_trainium_bo_info *arg)
{
	struct mock_bo *bo = mock_bo(file, arg->handle);

	mock.infos++;
	if (!bo)
		return -ENOENT;
	if (arg->flags || arg->pad)
		return -EINVAL;
	arg->flags = bo->flags;
	arg->size = bo->size;
	if (bo->memfd >= 0 && (bo->placement != TRAINIUM_BO_HBM ||
			       mock.features & TRAINIUM_FEATURE_HBM_MMAP))
		arg->mmap_offset = (uint64_t)arg->handle << 32;
	arg->placement = bo->placement;
	arg->stack = bo->stack;
	arg->content_generation = bo->generation;
	return 0;
}

static int query(struct mock_file *file, struct drm_trainium_query *arg)
{
	union {
		struct drm_trainium_query_device device;
		struct drm_trainium_query_memory memory;
		struct drm_trainium_query_engine engine;
		struct drm_trainium_query_queue queue;
		struct drm_trainium_query_limits limits;
		struct drm_trainium_query_telemetry telemetry;
		struct drm_trainium_query_holder holder;
		struct drm_trainium_query_core core;
		struct drm_trainium_query_fabric fabric;
	} u;
	struct mock_queue *queue;
	uint32_t size = 0, room = arg->size;
	unsigned int i;

	if (arg->pad)
		return -EINVAL;
	memset(&u, 0, sizeof(u));
	switch (arg->type) {
	case TRAINIUM_QUERY_DEVICE:
		mock.looks += mock.busy;
		u.device.uapi_major = (uint16_t)mock.uapi_major;
		u.device.uapi_minor = TRAINIUM_UAPI_MINOR;
		u.device.generation = 2;
		u.device.features = mock.features;
		u.device.event_types = mock.event_types;
		u.device.pci_revision = 3;
		memcpy(u.device.name, "trainium2", 10);
		u.device.serial = 0x1122334455667788;
		u.device.num_cores = 8;
		u.device.num_stacks = MOCK_STACKS;
		u.device.num_engines = 132;
		u.device.queues_per_engine = 16;
		u.device.hbm_size = MOCK_STACKS * MOCK_STACK_SIZE;
		u.device.reset_count = mock.reset_count;
		u.device.device_index = file->device;
		u.device.pci_slot = (uint8_t)(4 + file->device);
		size = sizeof(u.device);
		break;
	case TRAINIUM_QUERY_MEMORY:
		if (arg->index >= MOCK_STACKS)
			return -EINVAL;
		u.memory.size = MOCK_STACK_SIZE;
		u.memory.free = stack_free[file->device][arg->index];
		u.memory.largest_free = u.memory.free;
		u.memory.cpu_visible = MOCK_STACK_SIZE;
		u.memory.cpu_visible_free = u.memory.free;
		for (i = 0; i < MOCK_HANDLES; i++)
			if (file->bo[i] && file->bo[i]->placement == TRAINIUM_BO_HBM &&
			    file->bo[i]->stack == arg->index)
				u.memory.bo_count++;
		size = sizeof(u.memory);
		break;
	case TRAINIUM_QUERY_ENGINE:
		if (arg->index >= 132)
			return -EINVAL;
		u.engine.core = arg->index < 128 ? arg->index / 16 : ~0u;
		u.engine.flags = TRAINIUM_ENGINE_HOST_ACCESS;
		if (mock.aborted && arg->index == 3)
			u.engine.flags |= TRAINIUM_ENGINE_ABORTED;
		u.engine.rings_free = 15;
		if (mock.out_of_service && arg->index == 5) {
			u.engine.flags |= TRAINIUM_ENGINE_OUT_OF_SERVICE;
			u.engine.rings_free = 0;
		}
		u.engine.bytes = 4711 + mock.looks * arg->index * 1000000;
		u.engine.busy_ns = 815 + mock.looks * arg->index * 1000000;
		size = sizeof(u.engine);
		break;
	case TRAINIUM_QUERY_QUEUE:
		queue = mock_queue(file, arg->index);
		if (!queue)
			return -ENOENT;
		u.queue = queue->state;
		size = sizeof(u.queue);
		break;
	case TRAINIUM_QUERY_LIMITS:
		u.limits = mock.limits;
		size = sizeof(u.limits);
		break;
	case TRAINIUM_QUERY_TELEMETRY:
		u.telemetry.hbm_ecc_corrected[3] = 7;
		u.telemetry.heartbeat = 42;
		u.telemetry.health = mock.health;
		u.telemetry.hbm_repair_state = mock.repair;
		u.telemetry.power_util[1] = 1234;
		u.telemetry.valid = TRAINIUM_TELEMETRY_SENSORS;
		u.telemetry.energy_uj = 1ull << 40;
		u.telemetry.temperature[5] = -40000;
		size = sizeof(u.telemetry);
		break;
	case TRAINIUM_QUERY_HOLDER:
		if (arg->index > 7)
			return -ENOENT;
		u.holder.id = arg->index > 3 ? 7 : 3;
		u.holder.flags = arg->index > 3 ? 0 : TRAINIUM_HOLDER_SELF;
		u.holder.pid = 42;
		memset(u.holder.comm, 'x', sizeof(u.holder.comm));
		u.holder.hbm_bytes = 1ull << 33;
		u.holder.others = 9;
		size = sizeof(u.holder);
		break;
	case TRAINIUM_QUERY_CORE:
		if (arg->index >= 8)
			return -EINVAL;
		u.core.idle[3] = arg->index + 1 + mock.looks;
		u.core.matmul[0] = mock.looks * arg->index;
		size = sizeof(u.core);
		break;
	case TRAINIUM_QUERY_FABRIC:
		mock_fabric_query(file, &u.fabric);
		size = sizeof(u.fabric);
		break;
	default:
		return -EINVAL;
	}
	if (arg->data) {
		memset((void *)(uintptr_t)arg->data, 0, room);
		memcpy((void *)(uintptr_t)arg->data, &u, size < room ? size : room);
	}
	arg->size = size;
	return 0;
}

struct mock_queue *mock_queue(struct mock_file *file, uint32_t id)
{
	unsigned int i;

	for (i = 0; i < MOCK_HANDLES; i++)
		if (id && file->queue[i].id == id)
			return &file->queue[i];
	return NULL;
}

static int subscribe(struct drm_trainium_events *arg)
{
	int ends[2];

	if (!arg->types || arg->types & ~mock.event_types || arg->fd ||
	    arg->record_size != sizeof(struct drm_trainium_event) ||
	    arg->flags != TRAINIUM_EVENTS_NONBLOCK)
		return -EINVAL;
	assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	arg->fd = ends[0];
	mock.events_fd = ends[1];
	return 0;
}

static int queue_create(struct mock_file *file, struct drm_trainium_queue_create *arg)
{
	unsigned int i, used = 0;

	bool user = arg->queue_class == TRAINIUM_QUEUE_USER;

	if (arg->flags || arg->priority < -1 || arg->priority > 1 || arg->num_engines > 16 ||
	    arg->queue || (!user && (arg->completion.handle || arg->completion.flags)) ||
	    (user && arg->num_engines > 1))
		return -EINVAL;
	if (arg->completion.handle && !mock_bo(file, arg->completion.handle))
		return -ENOENT;
	for (i = 0; i < MOCK_HANDLES; i++)
		used += file->queue[i].id != 0;
	if (used >= mock.limits.max_queues)
		return -EDQUOT;
	for (i = 0; i < MOCK_HANDLES; i++) {
		if (file->queue[i].id)
			continue;
		memset(&file->queue[i], 0, sizeof(file->queue[i]));
		file->queue[i].id = file->next_queue++;
		file->queue[i].state.num_rings = arg->num_engines ? arg->num_engines : 4;
		file->queue[i].state.queue_class = arg->queue_class;
		mock_completion_take(file, &file->queue[i], &arg->completion);
		file->queue[i].user = user;
		arg->queue = file->queue[i].id;
		return 0;
	}
	return -ENOSPC;
}

static int list_create(struct mock_file *file, struct drm_trainium_list_create *arg)
{
	struct drm_trainium_queue_create create = {
		.num_engines = 1,
		.queue_class = arg->flags ? TRAINIUM_QUEUE_USER : TRAINIUM_QUEUE_FENCED,
		.completion = arg->completion,
	};
	struct mock_queue *queue;
	size_t size = (size_t)arg->op_count * arg->op_stride;
	void *ops;
	int ret;

	if (arg->flags & ~TRAINIUM_LIST_F_USER || arg->pad || arg->list || !arg->op_count ||
	    arg->op_count > mock.limits.max_list_descs)
		return -EINVAL;
	ret = queue_create(file, &create);
	if (ret)
		return ret;
	queue = mock_queue(file, create.queue);
	ops = malloc(size);
	memcpy(ops, (void *)(uintptr_t)arg->ops, size);
	queue->list = (struct drm_trainium_submit){
		.queue = queue->id,
		.ops = (uintptr_t)ops,
		.op_count = arg->op_count,
		.op_stride = arg->op_stride,
	};
	queue->state.queue_class = TRAINIUM_QUEUE_LIST;
	arg->list = queue->id;
	arg->descs = arg->op_count;
	return 0;
}

static void run_held(unsigned int count);

static int queue_destroy(struct mock_file *file, const struct drm_trainium_queue_destroy *arg)
{
	struct mock_queue *queue = mock_queue(file, arg->queue);

	if (!queue)
		return -ENOENT;
	if (arg->pad)
		return -EINVAL;
	queue->id = 0;
	if (queue->list.op_count)
		free((void *)(uintptr_t)queue->list.ops);
	if (queue->user && queue->state.completed != queue->state.submitted)
		mock_completion_tell(queue, TRAINIUM_COMPLETION_ENDED);
	if (queue->word)
		bo_put(queue->word);
	queue->word = NULL;
	if (queue->last)
		mock_fence_put(queue->last);
	queue->last = NULL;
	/* Nothing waits in it any more. */
	if (queue->user)
		run_held(~0u);
	return 0;
}

/* False when the job waits for a semaphore. */
static bool run_job(struct mock_job *job)
{
	struct mock_queue *queue = mock_queue(job->file, job->queue);
	uint32_t reason = mock.job_reason;
	int error = mock.job_error;
	unsigned int i;

	if (queue && queue->user && !error) {
		for (; job->at < job->op_count; job->at++) {
			const struct mock_op *op = &job->ops[job->at];

			if (op->op.type != TRAINIUM_OP_WAIT)
				mock_run_op(op);
			else if (!mock_wait_over(op))
				return false;
		}
	}
	/* The end of a user queue is that of its jobs. */
	if (!queue && job->at < job->op_count && job->user)
		error = -ECANCELED;
	mock.job_error = 0;
	for (i = 0; i < job->in_count; i++) {
		if (job->in[i]->status < 0 && !error) {
			error = -ECANCELED;
			reason = TRAINIUM_REASON_DEPENDENCY;
		}
		mock_fence_put(job->in[i]);
	}
	for (i = 0; i < job->op_count; i++) {
		if (!error && !job->user)
			mock_run_op(&job->ops[i]);
		bo_put(job->ops[i].dst);
		if (job->ops[i].src)
			bo_put(job->ops[i].src);
	}
	if (queue) {
		queue->state.completed++;
		if (error) {
			queue->state.failed++;
			queue->state.error = (uint32_t)-error;
			queue->state.reason = reason;
			queue->state.engine = 17;
			queue->state.cause = 0x1234;
		}
		mock_completion_tell(queue, error ? TRAINIUM_COMPLETION_ENDED :
						    queue->state.completed);
	}
	mock_fence_signal(job->fence, error ? error : 1);
	mock_fence_put(job->fence);
	free(job->ops);
	free(job);
	return true;
}

/* Is there a job before it that its queue has not ended? */
static bool is_behind(const struct mock_job *job)
{
	const struct mock_job *before;

	for (before = held; before != job; before = before->next)
		if (before->file == job->file && before->queue == job->queue)
			return true;
	return false;
}

/* With the lock held. What has waited goes on when another job has signalled. */
static void run_held(unsigned int count)
{
	struct mock_job **at = &held, *job;

	while (*at && count) {
		job = *at;
		if (!is_behind(job)) {
			struct mock_job *next = job->next;

			if (run_job(job)) {
				*at = next;
				at = &held;
				count--;
				continue;
			}
		}
		at = &job->next;
	}
}

void mock_run(unsigned int count)
{
	pthread_mutex_lock(&mock_lock);
	run_held(count);
	pthread_mutex_unlock(&mock_lock);
}

static int wait_fence(struct mock_fence *fence, int64_t deadline, uint32_t *status)
{
	int ret = mock_fence_wait(fence, deadline);

	*status = ret == -ETIME ? TRAINIUM_STATUS_PENDING : TRAINIUM_STATUS_DONE;
	return fence->status < 0 ? fence->status : 0;
}

static int submit_wait_all(struct mock_file *file, struct drm_trainium_submit *arg)
{
	struct mock_queue *queue = mock_queue(file, arg->queue);
	struct mock_fence *last = queue->last;
	int ret;

	mock.waits++;
	if (!last) {
		arg->status = TRAINIUM_STATUS_DONE;
		return 0;
	}
	mock_fence_get(last);
	ret = wait_fence(last, arg->deadline_ns, &arg->status);
	mock_fence_put(last);
	return ret;
}

static void take_op(const struct drm_trainium_submit *arg, uint32_t i,
		    struct drm_trainium_op_strided *op)
{
	const char *at = (const char *)(uintptr_t)arg->ops + (size_t)i * arg->op_stride;

	memset(op, 0, sizeof(*op));
	memcpy(op, at, arg->op_stride);
}

static void log_job(const struct drm_trainium_submit *arg, uint64_t bytes)
{
	struct mock_job_log *log = &mock.job_log[mock.jobs++ % MOCK_JOB_LOG];
	const struct drm_trainium_op *ops = (const void *)(uintptr_t)arg->ops;

	memset(log, 0, sizeof(*log));
	log->queue = arg->queue;
	log->ops = arg->op_count;
	log->bytes = bytes;
	log->in_syncs = arg->in_sync_count;
	log->out_syncs = arg->out_sync_count;
	log->flags = arg->flags;
	log->first_op_flags = ops[0].flags;
	log->deadline = arg->deadline_ns;
}

static int submit(struct mock_file *file, struct drm_trainium_submit *arg)
{
	struct drm_trainium_op_strided strided;
	struct mock_queue *queue = mock_queue(file, arg->queue);
	const struct drm_trainium_op *op;
	bool wait = arg->flags & TRAINIUM_SUBMIT_WAIT;
	struct mock_job *job, **tail;
	struct mock_fence *fence;
	uint64_t bytes = 0;
	uint32_t i;
	int ret;

	if (!queue)
		return -ENOENT;
	if (arg->flags & ~TRAINIUM_SUBMIT_WAIT || arg->pad ||
	    (arg->op_stride != sizeof(*op) && arg->op_stride != sizeof(strided)) ||
	    arg->op_count > mock.limits.max_ops || arg->in_sync_count > mock.limits.max_syncs ||
	    (!wait && arg->deadline_ns))
		return -EINVAL;
	if (!arg->op_count)
		return wait ? submit_wait_all(file, arg) : -EINVAL;
	for (i = 0; i < arg->op_count; i++) {
		take_op(arg, i, &strided);
		ret = mock_check_op(file, &strided.op, &strided);
		if (!ret && strided.op.type == TRAINIUM_OP_WAIT && !queue->user)
			ret = -EINVAL;
		if (ret)
			return ret;
		bytes += strided.op.size * (strided.rows ? strided.rows * strided.planes : 1);
	}
	if (mock.limits.max_job_bytes && bytes > mock.limits.max_job_bytes)
		return -EINVAL;

	job = calloc(1, sizeof(*job));
	job->file = file;
	job->queue = queue->id;
	job->user = queue->user;
	job->fence = mock_fence_new();
	ret = mock_take_syncs(file, job, arg);
	if (ret) {
		mock_fence_put(job->fence);
		free(job);
		return ret;
	}
	job->op_count = arg->op_count;
	job->ops = calloc(arg->op_count, sizeof(*job->ops));
	for (i = 0; i < arg->op_count; i++) {
		take_op(arg, i, &job->ops[i].strides);
		op = &job->ops[i].strides.op;
		job->ops[i].op = *op;
		job->ops[i].dst = mock_bo(file, op->dst);
		job->ops[i].dst->refs++;
		if (op->type == TRAINIUM_OP_FILL || op->type == TRAINIUM_OP_TIMESTAMP ||
		    op->type >= TRAINIUM_OP_SIGNAL)
			continue;
		job->ops[i].src = mock_bo(file, op->src);
		job->ops[i].src->refs++;
	}
	log_job(arg, bytes);
	arg->seqno = ++queue->state.submitted;
	fence = mock_fence_get(job->fence);
	if (queue->last)
		mock_fence_put(queue->last);
	queue->last = mock_fence_get(fence);

	for (tail = &held; *tail; tail = &(*tail)->next)
		;
	*tail = job;
	if (!mock.hold)
		run_held(~0u);

	ret = 0;
	arg->status = TRAINIUM_STATUS_PENDING;
	if (wait && mock.pending)
		mock.pending--;
	else if (wait)
		ret = wait_fence(fence, arg->deadline_ns, &arg->status);
	mock_fence_put(fence);
	return ret;
}

static int list_submit(struct mock_file *file, struct drm_trainium_submit *arg)
{
	struct mock_queue *queue = mock_queue(file, arg->queue);
	struct drm_trainium_submit full = *arg;
	int ret;

	if (!queue || !queue->list.op_count)
		return -ENOENT;
	if (arg->ops || arg->op_count || arg->op_stride || arg->in_syncs || arg->in_sync_count)
		return -EINVAL;
	full.ops = queue->list.ops;
	full.op_count = queue->list.op_count;
	full.op_stride = queue->list.op_stride;
	ret = submit(file, &full);
	arg->seqno = full.seqno;
	arg->status = full.status;
	return ret;
}

static int mock_ioctl_locked(int fd, unsigned long request, void *arg)
{
	struct mock_file *file = mock_file(fd);

	if (!file)
		return -EBADF;
	if (mock.fail_count && mock.fail_request == request) {
		if (!mock.fail_skip) {
			mock.fail_count--;
			return mock.fail_error;
		}
		mock.fail_skip--;
	}
	switch (request) {
	case DRM_IOCTL_TRAINIUM_QUERY:
		return query(file, arg);
	case DRM_IOCTL_TRAINIUM_BO_CREATE:
		return mock_bo_create(file, arg);
	case DRM_IOCTL_TRAINIUM_BO_INFO:
		return bo_info(file, arg);
	case DRM_IOCTL_TRAINIUM_QUEUE_CREATE:
		return queue_create(file, arg);
	case DRM_IOCTL_TRAINIUM_QUEUE_DESTROY:
		return queue_destroy(file, arg);
	case DRM_IOCTL_TRAINIUM_SUBMIT:
		return submit(file, arg);
	case DRM_IOCTL_TRAINIUM_EVENTS:
		return subscribe(arg);
	case DRM_IOCTL_TRAINIUM_LIST_CREATE:
		return list_create(file, arg);
	case DRM_IOCTL_TRAINIUM_LIST_SUBMIT:
		return list_submit(file, arg);
	case DRM_IOCTL_TRAINIUM_RESET:
		if (((struct drm_trainium_reset *)arg)->scope == TRAINIUM_RESET_CORE &&
		    ((struct drm_trainium_reset *)arg)->index >= 8)
			return -EINVAL;
		mock.reset_count++;
		return 0;
	default:
		return mock_fabric_ioctl(file, request, arg);
	}
}

static int mock_ioctl(int fd, unsigned long request, void *arg)
{
	int ret;

	pthread_mutex_lock(&mock_lock);
	ret = mock_ioctl_locked(fd, request, arg);
	pthread_mutex_unlock(&mock_lock);
	return ret;
}

static int mock_mmap(int fd, uint64_t offset, uint64_t size, void **address)
{
	struct mock_bo *bo;
	int ret = -EINVAL;

	pthread_mutex_lock(&mock_lock);
	bo = mock_bo(mock_file(fd), (uint32_t)(offset >> 32));
	if (bo && bo->memfd >= 0 && size <= bo->size) {
		*address = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, bo->memfd, 0);
		mock.maps++;
		ret = 0;
	}
	pthread_mutex_unlock(&mock_lock);
	return ret;
}

static void mock_munmap(void *address, uint64_t size)
{
	pthread_mutex_lock(&mock_lock);
	mock.unmaps++;
	munmap(address, size);
	pthread_mutex_unlock(&mock_lock);
}

static int64_t mock_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static int mock_buffer_close(int fd, uint32_t handle)
{
	struct mock_file *file;
	struct mock_bo *bo;

	pthread_mutex_lock(&mock_lock);
	file = mock_file(fd);
	bo = mock_bo(file, handle);
	assert_non_null(bo);
	file->bo[handle] = NULL;
	bo_put(bo);
	pthread_mutex_unlock(&mock_lock);
	return 0;
}

static int mock_buffer_export(int fd, uint32_t handle, int *out)
{
	struct mock_bo *bo;

	pthread_mutex_lock(&mock_lock);
	bo = mock_bo(mock_file(fd), handle);
	*out = bo && bo->memfd >= 0 ? fcntl(bo->memfd, F_DUPFD_CLOEXEC, 3) : -1;
	pthread_mutex_unlock(&mock_lock);
	return *out < 0 ? -EOPNOTSUPP : 0;
}

/* The buffer that a descriptor stands for, and its handle in @file if it has one. */
static struct mock_bo *find_memfd(struct mock_file *file, int in, uint32_t *handle)
{
	struct mock_bo *found = NULL;
	struct stat a, b;
	unsigned int i, j;

	if (fstat(in, &a))
		return NULL;
	*handle = 0;
	for (i = 0; i < MOCK_FILES; i++)
		for (j = 1; mock_files[i] && j < MOCK_HANDLES; j++) {
			struct mock_bo *bo = mock_files[i]->bo[j];

			if (!bo || bo->memfd < 0 || fstat(bo->memfd, &b) || a.st_ino != b.st_ino)
				continue;
			found = bo;
			if (mock_files[i] == file)
				*handle = j;
		}
	return found;
}

static int mock_buffer_import(int fd, int in, uint32_t *handle)
{
	struct mock_file *file;
	struct mock_bo *bo;
	int ret = 0;

	pthread_mutex_lock(&mock_lock);
	file = mock_file(fd);
	bo = find_memfd(file, in, handle);
	if (!bo) {
		ret = -EINVAL;
	} else if (mock.no_import && bo->device != file->device) {
		ret = mock.no_import;
	} else if (!*handle) {
		bo->refs++;
		ret = new_handle(file, bo, handle);
	}
	pthread_mutex_unlock(&mock_lock);
	return ret;
}

const struct nrn_backend mock_backend_template = {
	.open = mock_open,
	.dup = mock_dup,
	.close = mock_close,
	.node = mock_node,
	.version = mock_version,
	.ioctl = mock_ioctl,
	.mmap = mock_mmap,
	.munmap = mock_munmap,
	.now = mock_now,
	.buffer_close = mock_buffer_close,
	.buffer_export = mock_buffer_export,
	.buffer_import = mock_buffer_import,
	.syncobj_create = mock_syncobj_create,
	.syncobj_destroy = mock_syncobj_destroy,
	.syncobj_wait = mock_syncobj_wait,
	.syncobj_export = mock_syncobj_export,
	.syncobj_export_sync_file = mock_syncobj_export_sync_file,
	.syncobj_import_sync_file = mock_syncobj_import_sync_file,
	.sync_file_status = mock_sync_file_status,
};

void mock_reset(void)
{
	unsigned int i, j;

	memset(&mock, 0, sizeof(mock));
	mock.features = TRAINIUM_FEATURE_IRQ | TRAINIUM_FEATURE_HBM_MMAP |
			TRAINIUM_FEATURE_USERPTR | TRAINIUM_FEATURE_QUEUE_FENCED |
			TRAINIUM_FEATURE_TIMESTAMP;
	mock.uapi_major = TRAINIUM_UAPI_MAJOR;
	mock.driver = "trainium";
	mock.limits.max_queues = 8;
	mock.limits.max_rings = 64;
	mock.limits.max_ops = 4096;
	mock.limits.max_syncs = 64;
	mock.limits.max_bo_size = MOCK_STACK_SIZE;
	mock.limits.max_job_bytes = 1ull << 40;
	mock.limits.job_timeout_ns = 5000000000;
	mock.limits.alignment = 64;
	mock.limits.max_rows = 1000;
	mock.limits.max_list_descs = 20;
	mock.limits.max_list_patterns = 4;
	mock.limits.max_hbm = MOCK_STACK_SIZE;
	mock.limits.max_pinned = 1ull << 32;
	mock.limits.max_buffers = 64;
	for (i = 0; i < 2; i++)
		for (j = 0; j < MOCK_STACKS; j++)
			stack_free[i][j] = MOCK_STACK_SIZE;
}

void mock_check_empty(void)
{
	unsigned int i, j;

	assert_null(held);
	for (i = 0; i < MOCK_FILES; i++)
		assert_null(mock_files[i]);
	for (i = 0; i < 2; i++)
		for (j = 0; j < MOCK_STACKS; j++)
			assert_int_equal(stack_free[i][j], MOCK_STACK_SIZE);
	assert_int_equal(mock.maps, mock.unmaps);
}
