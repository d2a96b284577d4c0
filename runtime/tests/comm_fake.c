// SPDX-License-Identifier: MIT
/* Simulated chips: memory in memfds, lists that run step by step */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "backend.h"
#include "comm_fake.h"
#include "comm_sim.h"

#include <drm/trainium_accel.h>

#define FILES 512
#define BUFFERS 2048
#define LISTS 4096
#define GROUPS 4
#define SLOTS 32

struct fake fake;

struct bo {
	bool used;
	uint32_t chip, placement, flags;
	uint64_t size;
	int memfd;
	unsigned char *memory;
	uint32_t group, slot;
};

struct list {
	bool used;
	uint32_t chip;
	struct drm_trainium_op *ops;
	uint32_t count, next;
	uint64_t submitted, done;
	struct drm_trainium_completion completion;
	bool ended;
};

struct group {
	bool used;
	uint32_t wanted, joined;
	bool member[FAKE_CHIPS];
	struct bo *bound[FAKE_CHIPS][SLOTS];
};

static uint32_t file_chip[FILES];
static struct bo bos[BUFFERS];
static struct list lists[LISTS];
static struct group groups[GROUPS];

static struct bo *bo_of(uint32_t handle)
{
	return handle && handle < BUFFERS && bos[handle].used ? &bos[handle] : NULL;
}

static int bo_new(uint32_t chip, uint32_t placement, uint64_t size, int memfd, uint32_t *handle)
{
	uint32_t i;

	for (i = 1; i < BUFFERS && bos[i].used; i++)
		;
	if (i == BUFFERS)
		return -ENOSPC;
	bos[i] = (struct bo){ .used = true, .chip = chip, .placement = placement, .size = size,
			      .memfd = memfd };
	if (memfd >= 0) {
		bos[i].memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
		if (bos[i].memory == MAP_FAILED)
			return -ENOMEM;
	}
	fake.buffers++;
	*handle = i;
	return 0;
}

static int bo_create(uint32_t chip, struct drm_trainium_bo_create *arg)
{
	uint64_t size = (arg->size + 4095) & ~4095ull;
	int memfd, ret;

	if (arg->placement == TRAINIUM_BO_USERPTR)
		return -EOPNOTSUPP;
	memfd = memfd_create("bo", MFD_CLOEXEC);
	if (memfd < 0 || ftruncate(memfd, (off_t)size))
		return -ENOMEM;
	ret = bo_new(chip, arg->placement, size, memfd, &arg->handle);
	if (!ret)
		bos[arg->handle].flags = arg->flags;
	return ret;
}

static int bo_info(struct drm_trainium_bo_info *arg)
{
	struct bo *bo = bo_of(arg->handle);

	if (!bo)
		return -ENOENT;
	arg->size = bo->size;
	arg->flags = bo->flags;
	arg->placement = bo->placement;
	arg->mmap_offset = (uint64_t)arg->handle << 32;
	return 0;
}

/* Memory of chips that an op writes to or reads from: one, or all of a group */
static uint32_t places(const struct bo *bo, uint64_t at, unsigned char **place)
{
	const struct group *g = &groups[bo->group];
	uint32_t i, n = 0;

	if (bo->placement != TRAINIUM_BO_GROUP) {
		place[0] = bo->memory + at;
		return 1;
	}
	for (i = 0; i < FAKE_CHIPS; i++)
		if (g->member[i] && g->bound[i][bo->slot])
			place[n++] = g->bound[i][bo->slot]->memory + at;
	return n;
}

/* false: a wait goes on */
static bool run_semaphore(const struct drm_trainium_op *op, unsigned char **dst, uint32_t n)
{
	int64_t want = (int64_t)op->pattern, now;
	uint32_t i;

	if (op->type == TRAINIUM_OP_SIGNAL) {
		for (i = 0; i < n; i++)
			__atomic_add_fetch((int64_t *)dst[i], want, __ATOMIC_SEQ_CST);
		return true;
	}
	now = __atomic_load_n((int64_t *)dst[0], __ATOMIC_SEQ_CST);
	if (now < want)
		return false;
	if (op->flags & TRAINIUM_OP_F_TAKE)
		__atomic_sub_fetch((int64_t *)dst[0], want, __ATOMIC_SEQ_CST);
	return true;
}

static bool run_op(const struct drm_trainium_op *op)
{
	unsigned char *dst[FAKE_CHIPS], *src[FAKE_CHIPS];
	uint32_t combine = op->flags >> 8 & 0xff, dtype = op->flags >> 16 & 0xff, n, from, i;

	n = places(bo_of(op->dst), op->dst_offset, dst);
	if (op->type == TRAINIUM_OP_SIGNAL || op->type == TRAINIUM_OP_WAIT)
		return run_semaphore(op, dst, n);
	from = places(bo_of(op->src), op->src_offset, src);
	if (op->type == TRAINIUM_OP_ACCUMULATE) {
		sim_combine(dtype, combine, dst[0], src[0], op->size);
		return true;
	}
	for (i = 0; i < n; i++)
		memmove(dst[i], src[0], op->size);
	for (i = 1; op->type == TRAINIUM_OP_REDUCE && i < from; i++)
		sim_combine(dtype, combine, dst[0], src[i], op->size);
	return true;
}

static void complete(struct list *list, uint64_t value)
{
	uint64_t one = 1;

	memcpy(bo_of(list->completion.handle)->memory + list->completion.offset, &value, 8);
	if (write(list->completion.eventfd, &one, sizeof(one)) < 0)
		abort();
}

static bool run_list(struct list *list)
{
	bool went = false;

	if (!list->used || list->ended || list->chip == fake.hang)
		return false;
	while (list->done < list->submitted) {
		if (list->chip == fake.unplugged) {
			list->ended = true;
			complete(list, TRAINIUM_COMPLETION_ENDED);
			return true;
		}
		if (list->next < list->count) {
			if (!run_op(&list->ops[list->next]))
				return went;
			list->next++;
		} else {
			list->next = 0;
			list->done++;
			complete(list, list->done);
		}
		went = true;
	}
	return went;
}

static void run_lists(void)
{
	bool went;
	uint32_t i;

	do {
		for (went = false, i = 1; i < LISTS; i++)
			went |= run_list(&lists[i]);
	} while (went);
}

/* Descriptors: what the library may rely on is only that too many are refused. */
static bool op_valid(const struct drm_trainium_op *op, uint32_t chip, uint32_t *descs)
{
	struct bo *dst = bo_of(op->dst), *src = NULL;
	bool semaphore = op->type == TRAINIUM_OP_SIGNAL || op->type == TRAINIUM_OP_WAIT;
	bool combines = op->type == TRAINIUM_OP_REDUCE || op->type == TRAINIUM_OP_ACCUMULATE;

	*descs += 1 + (uint32_t)(op->size / 65536);
	if (!dst || !op->size || op->dst_offset + op->size > dst->size)
		return false;
	if (semaphore)
		return op->size == 8 && op->pattern_size == 8 && op->dst_offset % 8 == 0 &&
		       (op->type == TRAINIUM_OP_SIGNAL || dst->placement == TRAINIUM_BO_HBM);
	src = bo_of(op->src);
	if (!src || src->chip != chip || dst->chip != chip ||
	    op->src_offset + op->size > src->size)
		return false;
	if (combines && (op->src_offset | op->dst_offset | op->size) % 16)
		return false;
	return (src->placement == TRAINIUM_BO_GROUP) == (op->type == TRAINIUM_OP_REDUCE);
}

static int list_create(uint32_t chip, struct drm_trainium_list_create *arg)
{
	const struct drm_trainium_op *ops = (void *)(uintptr_t)arg->ops;
	uint32_t i, descs = 0, count = 0;
	struct list *list;

	for (i = 0; i < arg->op_count; i++)
		if (!op_valid(&ops[i], chip, &descs))
			return -EFAULT;
	if (descs > fake.max_descs || !arg->op_count)
		return -EINVAL;
	for (i = 1; i < LISTS; i++)
		count += lists[i].used && lists[i].chip == chip;
	for (i = 1; i < LISTS && lists[i].used; i++)
		;
	if (i == LISTS || count >= 64)
		return -EDQUOT;
	list = &lists[i];
	*list = (struct list){ .used = true, .chip = chip, .count = arg->op_count,
			       .completion = arg->completion };
	list->ops = malloc(arg->op_count * sizeof(*ops));
	memcpy(list->ops, ops, arg->op_count * sizeof(*ops));
	arg->list = i;
	fake.lists++;
	return 0;
}

static int queue_destroy(struct drm_trainium_queue_destroy *arg)
{
	struct list *list = &lists[arg->queue % LISTS];

	if (list->used) {
		list->used = false;
		free(list->ops);
		fake.lists--;
	}
	return 0;
}

static int submit(struct drm_trainium_submit *arg)
{
	const struct drm_trainium_op *ops = (void *)(uintptr_t)arg->ops;
	uint32_t i;

	for (i = 0; i < arg->op_count; i++)
		run_op(&ops[i]);
	arg->status = TRAINIUM_STATUS_DONE;
	return 0;
}

static int list_submit(struct drm_trainium_submit *arg)
{
	struct list *list = &lists[arg->queue % LISTS];

	if (!list->used)
		return -ENOENT;
	fake.submits++;
	arg->seqno = ++list->submitted;
	return 0;
}

static void query_fabric(uint32_t chip, struct drm_trainium_query_fabric *q)
{
	q->kind = fake.kind;
	q->caps = fake.groups ? TRAINIUM_FABRIC_CAP_MULTICAST | TRAINIUM_FABRIC_CAP_REDUCE : 0;
	q->chip = chip;
	q->num_chips = FAKE_CHIPS;
	q->server = chip / fake.server;
	q->group_slots = SLOTS;
	q->group_granule = FAKE_GRANULE;
	q->reduce_dtypes = 0xff;
	q->reduce_combines = 7;
}

static int query(uint32_t chip, struct drm_trainium_query *arg)
{
	union {
		struct drm_trainium_query_device device;
		struct drm_trainium_query_limits limits;
		struct drm_trainium_query_fabric fabric;
		struct drm_trainium_query_queue queue;
	} u = { 0 };

	switch (arg->type) {
	case TRAINIUM_QUERY_DEVICE:
		u.device.uapi_major = TRAINIUM_UAPI_MAJOR;
		u.device.features = TRAINIUM_FEATURE_FABRIC | TRAINIUM_FEATURE_SEMAPHORE |
				    TRAINIUM_FEATURE_QUEUE_USER;
		u.device.num_stacks = 1;
		break;
	case TRAINIUM_QUERY_LIMITS:
		u.limits.max_ops = 65536;
		u.limits.max_job_bytes = 1ull << 40;
		u.limits.max_list_descs = fake.max_descs;
		break;
	case TRAINIUM_QUERY_QUEUE:
		u.queue.error = EIO;
		u.queue.reason = TRAINIUM_REASON_FABRIC;
		break;
	case TRAINIUM_QUERY_FABRIC:
		query_fabric(chip, &u.fabric);
		break;
	default:
		return -EINVAL;
	}
	memcpy((void *)(uintptr_t)arg->data, &u, arg->size < sizeof(u) ? arg->size : sizeof(u));
	return 0;
}

static int group(uint32_t chip, struct drm_trainium_fabric_group *arg)
{
	struct group *g = &groups[arg->group % GROUPS];
	uint32_t i;

	switch (arg->op) {
	case TRAINIUM_GROUP_CREATE:
		for (i = 0; i < GROUPS && groups[i].used; i++)
			;
		if (i == GROUPS)
			return -ENOSPC;
		groups[i] = (struct group){ .used = true, .wanted = arg->count };
		arg->group = i;
		return 0;
	case TRAINIUM_GROUP_JOIN:
		if (!g->used || g->member[chip])
			return -ENOENT;
		g->member[chip] = true;
		g->joined++;
		return 0;
	case TRAINIUM_GROUP_BIND:
		if (g->joined < g->wanted)
			return -EAGAIN;
		g->bound[chip][arg->count] = bo_of(arg->handle);
		return 0;
	case TRAINIUM_GROUP_UNBIND:
		g->bound[chip][arg->count] = NULL;
		return 0;
	case TRAINIUM_GROUP_MAP:
		if (bo_new(chip, TRAINIUM_BO_GROUP, arg->size, -1, &arg->handle))
			return -ENOSPC;
		bos[arg->handle].group = arg->group;
		bos[arg->handle].slot = arg->count;
		return 0;
	case TRAINIUM_GROUP_DESTROY:
		g->used = false;
		return 0;
	default:
		return 0;
	}
}

static int peer(uint32_t chip, struct drm_trainium_fabric_peer *arg)
{
	bool down = arg->chip == fake.unplugged || chip == fake.unplugged;

	arg->status = down ? TRAINIUM_PATH_DOWN : TRAINIUM_PATH_OK;
	arg->rate = 1800000;
	arg->latency_ns = 650;
	return 0;
}

static int fake_ioctl(int fd, unsigned long request, void *arg)
{
	uint32_t chip = file_chip[fd];

	switch (request) {
	case DRM_IOCTL_TRAINIUM_QUERY:
		return query(chip, arg);
	case DRM_IOCTL_TRAINIUM_BO_CREATE:
		return bo_create(chip, arg);
	case DRM_IOCTL_TRAINIUM_BO_INFO:
		return bo_info(arg);
	case DRM_IOCTL_TRAINIUM_QUEUE_CREATE:
		((struct drm_trainium_queue_create *)arg)->queue = LISTS;
		return 0;
	case DRM_IOCTL_TRAINIUM_QUEUE_DESTROY:
		return queue_destroy(arg);
	case DRM_IOCTL_TRAINIUM_SUBMIT:
		return submit(arg);
	case DRM_IOCTL_TRAINIUM_LIST_CREATE:
		return list_create(chip, arg);
	case DRM_IOCTL_TRAINIUM_LIST_SUBMIT:
		return list_submit(arg);
	case DRM_IOCTL_TRAINIUM_FABRIC_GROUP:
		return group(chip, arg);
	case DRM_IOCTL_TRAINIUM_FABRIC_PEER:
		return peer(chip, arg);
	default:
		return -ENOTTY;
	}
}

static int open_chip(uint32_t chip)
{
	int fd = dup(0);

	if (fd < 0 || fd >= FILES)
		return -EMFILE;
	file_chip[fd] = chip;
	return fd;
}

static int fake_dup(int fd)
{
	return open_chip(file_chip[fd]);
}

static void fake_close(int fd)
{
	close(fd);
}

static int fake_node(int fd, char *path, size_t size)
{
	snprintf(path, size, "/dev/accel/accel%u", file_chip[fd]);
	return 0;
}

static int fake_version(int fd, char *name, size_t size, uint32_t version[3])
{
	(void)fd;
	snprintf(name, size, "trainium");
	version[0] = 1;
	return 0;
}

static int fake_mmap(int fd, uint64_t offset, uint64_t size, void **address)
{
	(void)fd;
	(void)size;
	*address = bo_of((uint32_t)(offset >> 32))->memory;
	return 0;
}

static void fake_munmap(void *address, uint64_t size)
{
	(void)address;
	(void)size;
}

static int64_t fake_now(void)
{
	struct timespec ts;

	run_lists();
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ll + ts.tv_nsec;
}

static int fake_buffer_close(int fd, uint32_t handle)
{
	struct bo *bo = bo_of(handle);

	(void)fd;
	if (bo->memfd >= 0) {
		munmap(bo->memory, bo->size);
		close(bo->memfd);
	}
	bo->used = false;
	fake.buffers--;
	return 0;
}

static int fake_buffer_export(int fd, uint32_t handle, int *out)
{
	(void)fd;
	*out = dup(bo_of(handle)->memfd);
	return *out < 0 ? -EMFILE : 0;
}

static int fake_buffer_import(int fd, int in, uint32_t *handle)
{
	struct stat st;
	int memfd = dup(in);

	if (memfd < 0 || fstat(memfd, &st))
		return -EINVAL;
	return bo_new(file_chip[fd], TRAINIUM_BO_PEER, (uint64_t)st.st_size, memfd, handle);
}

static int fake_syncobj_create(int fd, uint32_t *handle)
{
	(void)fd;
	*handle = 1;
	return 0;
}

static void fake_syncobj_destroy(int fd, uint32_t handle)
{
	(void)fd;
	(void)handle;
}

static const struct nrn_backend backend = {
	.sys_dir = "/nonexistent",
	.dev_dir = "/dev/accel",
	.dup = fake_dup,
	.close = fake_close,
	.node = fake_node,
	.version = fake_version,
	.ioctl = fake_ioctl,
	.mmap = fake_mmap,
	.munmap = fake_munmap,
	.now = fake_now,
	.buffer_close = fake_buffer_close,
	.buffer_export = fake_buffer_export,
	.buffer_import = fake_buffer_import,
	.syncobj_create = fake_syncobj_create,
	.syncobj_destroy = fake_syncobj_destroy,
};

void fake_init(void)
{
	fake = (struct fake){
		.groups = true,
		.kind = TRAINIUM_FABRIC_NVLINK,
		.server = 4,
		.max_descs = 1023,
		.hang = ~0u,
		.unplugged = ~0u,
	};
	nrn_backend = &backend;
}

struct neuron_device *fake_open(uint32_t chip)
{
	struct neuron_device *device = NULL;
	int fd = open_chip(chip);

	if (fd >= 0 && neuron_device_open_fd(fd, &device))
		fprintf(stderr, "%s\n", neuron_last_error());
	if (fd >= 0)
		fake_close(fd);
	return device;
}
