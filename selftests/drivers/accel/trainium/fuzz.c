// SPDX-License-Identifier: GPL-2.0-only
/*
 * Calls nobody would write: every ioctl of the driver and those of the DRM core
 * that a node offers, with arguments that are nearly right, from several
 * processes and threads on the same file. Nothing may be lost, no call may
 * return what the contract does not have, the kernel says nothing.
 *
 * TRAINIUM_FUZZ_CALLS says how many calls, TRAINIUM_FUZZ_SEED repeats a run as
 * far as the order of the threads allows.
 */
#include <drm.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "kselftest_harness.h"
#include "trainium_util.h"

#define PROCESSES	4
#define THREADS		2
#define CALLS		1000000
#define MAX_OPS		40
#define POOL		16
#define ARENA		TRN_MIB(1)
#define ROOM		TRN_KIB(64)
#define NUM_POINTS	4

/* What a member is: how a value comes about that is nearly right */
enum kind {
	END,
	ONE_OF,		/* below @arg */
	BITS,		/* few of the bits @arg */
	SIZE,
	OFFSET,
	HANDLE,		/* GEM */
	QUEUE,		/* or list */
	SYNCOBJ,
	FD,		/* that the driver has made, or any other */
	COUNT,		/* below @arg, mostly */
	DEADLINE,	/* soon, or in the past */
	POINTER,	/* to room for anything */
	OPS,		/* to ops */
	SYNCS,		/* to syncs */
	HANDLES,	/* to handles of syncobjs */
	POINTS,		/* to 64-bit numbers */
	ANYTHING,
	RESULT,		/* zero; what comes back is kept as @arg says */
};

struct member {
	enum kind kind;
	unsigned int offset, size;
	__u64 arg;
};

struct call {
	unsigned long request;
	unsigned int size;
	/* One in so many of all picks of this call are carried out. */
	unsigned int rarity;
	const char *name;
	const struct member *members;
};

/* Members of 4 and of 8 bytes */
#define M4(s, m, k, a)	{ k, offsetof(struct s, m), 4, a }
#define M8(s, m, k, a)	{ k, offsetof(struct s, m), 8, a }
#define CALL(req, size, rare)	{ DRM_IOCTL_##req, size, rare, #req, req##_members }

static const struct member TRAINIUM_QUERY_members[] = {
	M4(drm_trainium_query, type, ONE_OF, 10),
	M4(drm_trainium_query, index, COUNT, 8),
	M4(drm_trainium_query, size, COUNT, 256),
	M8(drm_trainium_query, data, POINTER, 0),
	{}
};

static const struct member TRAINIUM_BO_CREATE_members[] = {
	M8(drm_trainium_bo_create, size, SIZE, 0),
	M4(drm_trainium_bo_create, placement, ONE_OF, 3),
	M4(drm_trainium_bo_create, flags, BITS, 0xf),
	M4(drm_trainium_bo_create, stack, COUNT, 5),
	M8(drm_trainium_bo_create, alignment, BITS, 0x3000),
	M8(drm_trainium_bo_create, userptr, POINTER, 1),
	M4(drm_trainium_bo_create, handle, RESULT, HANDLE),
	{}
};

static const struct member TRAINIUM_BO_INFO_members[] = {
	M4(drm_trainium_bo_info, handle, HANDLE, 0),
	{}
};

static const struct member TRAINIUM_QUEUE_CREATE_members[] = {
	M4(drm_trainium_queue_create, queue_class, ONE_OF, 3),
	M4(drm_trainium_queue_create, num_engines, COUNT, 4),
	M4(drm_trainium_queue_create, stack, COUNT, 5),
	M4(drm_trainium_queue_create, priority, BITS, 1),
	M4(drm_trainium_queue_create, queue, RESULT, QUEUE),
	M4(drm_trainium_queue_create, completion.handle, HANDLE, 1),
	M8(drm_trainium_queue_create, completion.offset, OFFSET, 1),
	{}
};

static const struct member TRAINIUM_QUEUE_DESTROY_members[] = {
	M4(drm_trainium_queue_destroy, queue, QUEUE, 0),
	{}
};

#define SUBMIT_MEMBERS(most) { \
	M4(drm_trainium_submit, queue, QUEUE, 0), \
	M4(drm_trainium_submit, flags, BITS, 1), \
	M8(drm_trainium_submit, ops, OPS, 0), \
	M4(drm_trainium_submit, op_count, COUNT, most), \
	M4(drm_trainium_submit, op_stride, ONE_OF, 0), \
	M8(drm_trainium_submit, in_syncs, SYNCS, 0), \
	M8(drm_trainium_submit, out_syncs, SYNCS, 0), \
	M4(drm_trainium_submit, in_sync_count, COUNT, 2), \
	M4(drm_trainium_submit, out_sync_count, COUNT, 2), \
	M8(drm_trainium_submit, deadline_ns, DEADLINE, 0), \
	{} \
}

static const struct member TRAINIUM_SUBMIT_members[] = SUBMIT_MEMBERS(MAX_OPS);
static const struct member TRAINIUM_LIST_SUBMIT_members[] = SUBMIT_MEMBERS(1);

static const struct member TRAINIUM_LIST_CREATE_members[] = {
	M8(drm_trainium_list_create, ops, OPS, 0),
	M4(drm_trainium_list_create, op_count, COUNT, MAX_OPS),
	M4(drm_trainium_list_create, op_stride, ONE_OF, 0),
	M4(drm_trainium_list_create, stack, COUNT, 5),
	M4(drm_trainium_list_create, flags, BITS, 1),
	M4(drm_trainium_list_create, priority, BITS, 1),
	M4(drm_trainium_list_create, list, RESULT, QUEUE),
	M4(drm_trainium_list_create, completion.handle, HANDLE, 1),
	M8(drm_trainium_list_create, completion.offset, OFFSET, 1),
	{}
};

static const struct member TRAINIUM_RESET_members[] = {
	M4(drm_trainium_reset, scope, ONE_OF, 3),
	M4(drm_trainium_reset, index, COUNT, 8),
	{}
};

static const struct member TRAINIUM_EVENTS_members[] = {
	M8(drm_trainium_events, types, BITS, 0x3ff),
	M4(drm_trainium_events, flags, BITS, 1),
	M4(drm_trainium_events, record_size, SIZE, 64),
	M4(drm_trainium_events, capacity, COUNT, 64),
	M4(drm_trainium_events, fd, RESULT, FD),
	{}
};

static const struct member TRAINIUM_FABRIC_PORT_members[] = {
	M4(drm_trainium_fabric_port, port, COUNT, 40),
	M4(drm_trainium_fabric_port, flags, BITS, 1),
	{}
};

static const struct member TRAINIUM_FABRIC_CTL_members[] = {
	M4(drm_trainium_fabric_ctl, op, ONE_OF, 12),
	M4(drm_trainium_fabric_ctl, port, COUNT, 40),
	M4(drm_trainium_fabric_ctl, flags, BITS, 3),
	M4(drm_trainium_fabric_ctl, counter, COUNT, 12),
	M8(drm_trainium_fabric_ctl, value, COUNT, 4),
	M8(drm_trainium_fabric_ctl, deadline_ns, DEADLINE, 0),
	{}
};

static const struct member TRAINIUM_FABRIC_GROUP_members[] = {
	M4(drm_trainium_fabric_group, op, ONE_OF, 8),
	M4(drm_trainium_fabric_group, group, COUNT, 4),
	M8(drm_trainium_fabric_group, key, RESULT, ANYTHING),
	M4(drm_trainium_fabric_group, count, COUNT, 3),
	M4(drm_trainium_fabric_group, handle, HANDLE, 0),
	M8(drm_trainium_fabric_group, offset, OFFSET, 0),
	M8(drm_trainium_fabric_group, size, SIZE, 0x10000),
	{}
};

static const struct member TRAINIUM_FABRIC_PEER_members[] = {
	M4(drm_trainium_fabric_peer, chip, COUNT, 4),
	M4(drm_trainium_fabric_peer, flags, BITS, 1),
	{}
};

static const struct member GEM_CLOSE_members[] = {
	M4(drm_gem_close, handle, HANDLE, 0),
	{}
};

static const struct member PRIME_HANDLE_TO_FD_members[] = {
	M4(drm_prime_handle, handle, HANDLE, 0),
	M4(drm_prime_handle, flags, BITS, DRM_CLOEXEC | DRM_RDWR),
	M4(drm_prime_handle, fd, RESULT, FD),
	{}
};

static const struct member PRIME_FD_TO_HANDLE_members[] = {
	M4(drm_prime_handle, fd, FD, 0),
	M4(drm_prime_handle, handle, RESULT, HANDLE),
	{}
};

static const struct member SYNCOBJ_CREATE_members[] = {
	M4(drm_syncobj_create, flags, BITS, 1),
	M4(drm_syncobj_create, handle, RESULT, SYNCOBJ),
	{}
};

static const struct member SYNCOBJ_DESTROY_members[] = {
	M4(drm_syncobj_destroy, handle, SYNCOBJ, 0),
	{}
};

static const struct member SYNCOBJ_HANDLE_TO_FD_members[] = {
	M4(drm_syncobj_handle, handle, SYNCOBJ, 0),
	M4(drm_syncobj_handle, flags, BITS, 1),
	M4(drm_syncobj_handle, fd, RESULT, FD),
	{}
};

static const struct member SYNCOBJ_FD_TO_HANDLE_members[] = {
	M4(drm_syncobj_handle, fd, FD, 0),
	M4(drm_syncobj_handle, flags, BITS, 1),
	M4(drm_syncobj_handle, handle, RESULT, SYNCOBJ),
	{}
};

static const struct member SYNCOBJ_WAIT_members[] = {
	M8(drm_syncobj_wait, handles, HANDLES, 0),
	M8(drm_syncobj_wait, timeout_nsec, DEADLINE, 0),
	M4(drm_syncobj_wait, count_handles, COUNT, 3),
	M4(drm_syncobj_wait, flags, BITS, 3),
	{}
};

static const struct member SYNCOBJ_TIMELINE_WAIT_members[] = {
	M8(drm_syncobj_timeline_wait, handles, HANDLES, 0),
	M8(drm_syncobj_timeline_wait, points, POINTS, 0),
	M8(drm_syncobj_timeline_wait, timeout_nsec, DEADLINE, 0),
	M4(drm_syncobj_timeline_wait, count_handles, COUNT, 3),
	M4(drm_syncobj_timeline_wait, flags, BITS, 7),
	{}
};

static const struct member SYNCOBJ_RESET_members[] = {
	M8(drm_syncobj_array, handles, HANDLES, 0),
	M4(drm_syncobj_array, count_handles, COUNT, 3),
	{}
};

static const struct member SYNCOBJ_SIGNAL_members[] = {
	M8(drm_syncobj_array, handles, HANDLES, 0),
	M4(drm_syncobj_array, count_handles, COUNT, 3),
	{}
};

static const struct member SYNCOBJ_TIMELINE_SIGNAL_members[] = {
	M8(drm_syncobj_timeline_array, handles, HANDLES, 0),
	M8(drm_syncobj_timeline_array, points, POINTS, 0),
	M4(drm_syncobj_timeline_array, count_handles, COUNT, 3),
	{}
};

static const struct member SYNCOBJ_QUERY_members[] = {
	M8(drm_syncobj_timeline_array, handles, HANDLES, 0),
	M8(drm_syncobj_timeline_array, points, POINTS, 0),
	M4(drm_syncobj_timeline_array, count_handles, COUNT, 3),
	{}
};

static const struct member SYNCOBJ_TRANSFER_members[] = {
	M4(drm_syncobj_transfer, src_handle, SYNCOBJ, 0),
	M4(drm_syncobj_transfer, dst_handle, SYNCOBJ, 0),
	M8(drm_syncobj_transfer, src_point, COUNT, 4),
	M8(drm_syncobj_transfer, dst_point, COUNT, 4),
	{}
};

static const struct call calls[] = {
	CALL(TRAINIUM_QUERY, sizeof(struct drm_trainium_query), 1),
	CALL(TRAINIUM_BO_CREATE, sizeof(struct drm_trainium_bo_create), 1),
	CALL(TRAINIUM_BO_INFO, sizeof(struct drm_trainium_bo_info), 1),
	CALL(TRAINIUM_QUEUE_CREATE, sizeof(struct drm_trainium_queue_create), 4),
	CALL(TRAINIUM_QUEUE_DESTROY, sizeof(struct drm_trainium_queue_destroy), 4),
	CALL(TRAINIUM_SUBMIT, sizeof(struct drm_trainium_submit), 1),
	CALL(TRAINIUM_SUBMIT, sizeof(struct drm_trainium_submit), 1),
	CALL(TRAINIUM_SUBMIT, sizeof(struct drm_trainium_submit), 1),
	CALL(TRAINIUM_LIST_CREATE, sizeof(struct drm_trainium_list_create), 4),
	CALL(TRAINIUM_LIST_SUBMIT, sizeof(struct drm_trainium_submit), 1),
	CALL(TRAINIUM_RESET, sizeof(struct drm_trainium_reset), 400),
	CALL(TRAINIUM_EVENTS, sizeof(struct drm_trainium_events), 4),
	CALL(TRAINIUM_FABRIC_PORT, sizeof(struct drm_trainium_fabric_port), 2),
	CALL(TRAINIUM_FABRIC_CTL, sizeof(struct drm_trainium_fabric_ctl), 16),
	CALL(TRAINIUM_FABRIC_GROUP, sizeof(struct drm_trainium_fabric_group), 1),
	CALL(TRAINIUM_FABRIC_PEER, sizeof(struct drm_trainium_fabric_peer), 1),
	CALL(GEM_CLOSE, sizeof(struct drm_gem_close), 2),
	CALL(PRIME_HANDLE_TO_FD, sizeof(struct drm_prime_handle), 4),
	CALL(PRIME_FD_TO_HANDLE, sizeof(struct drm_prime_handle), 2),
	CALL(SYNCOBJ_CREATE, sizeof(struct drm_syncobj_create), 4),
	CALL(SYNCOBJ_DESTROY, sizeof(struct drm_syncobj_destroy), 4),
	CALL(SYNCOBJ_HANDLE_TO_FD, sizeof(struct drm_syncobj_handle), 4),
	CALL(SYNCOBJ_FD_TO_HANDLE, sizeof(struct drm_syncobj_handle), 2),
	CALL(SYNCOBJ_WAIT, sizeof(struct drm_syncobj_wait), 1),
	CALL(SYNCOBJ_TIMELINE_WAIT, sizeof(struct drm_syncobj_timeline_wait), 1),
	CALL(SYNCOBJ_RESET, sizeof(struct drm_syncobj_array), 4),
	CALL(SYNCOBJ_SIGNAL, sizeof(struct drm_syncobj_array), 2),
	CALL(SYNCOBJ_TIMELINE_SIGNAL, sizeof(struct drm_syncobj_timeline_array), 2),
	CALL(SYNCOBJ_QUERY, sizeof(struct drm_syncobj_timeline_array), 1),
	CALL(SYNCOBJ_TRANSFER, sizeof(struct drm_syncobj_transfer), 2),
};

#define NUM_CALLS	ARRAY_SIZE(calls)

/* What the contract knows, see uapi/drm/trainium_accel.h; and what the core adds */
static const int known_errors[] = {
	EINVAL, ENOENT, EFAULT, ENOSPC, ENOMEM, EDQUOT, EIO, ECANCELED, ETIME, EBUSY,
	EOPNOTSUPP, ENODEV, EINTR, EACCES, EPERM, EXDEV, EALREADY, EAGAIN, ENOTCONN,
	EBADF, EMFILE, ENOTTY, E2BIG, ERANGE, EOVERFLOW, ENXIO, ESTALE,
};

/* Of a process: its threads share it on purpose, without a lock. */
struct shared {
	int fd;
	__u32 handle[POOL], queue[POOL], syncobj[POOL];
	int file[POOL];
	__u64 key;
	__u8 *arena;	/* its second half comes and goes */
};

struct worker {
	struct shared *shared;
	__u64 seed;
	unsigned int calls, done;
	unsigned int succeeded;
	char error[160];
	/* What arguments lead to */
	__u8 ops[MAX_OPS * sizeof(struct drm_trainium_op_strided)];
	struct drm_trainium_sync syncs[4];
	__u32 handles[4];
	__u8 *room;	/* ROOM bytes, with nothing behind them */
	__u64 *points;	/* 4, the last of the room: the kernel writes them, too */
};

static __u64 below(struct worker *w, __u64 limit)
{
	return trn_rand_below(&w->seed, limit);
}

static bool one_in(struct worker *w, unsigned int n)
{
	return !below(w, n);
}

static __u64 wild(struct worker *w)
{
	static const __u64 odd[] = {
		~0ull, 1ull << 63, 1ull << 32, 0xffffffff, 0x7fffffff, 0x80000000, 1, 0,
		0xfff, 0x1000, 0xffffffff000, 0x7ffffffffffff000,
	};

	switch (below(w, 3)) {
	case 0:
		return odd[below(w, ARRAY_SIZE(odd))];
	case 1:
		return 1ull << below(w, 64);
	default:
		return trn_rand(&w->seed);
	}
}

static __u64 any_size(struct worker *w)
{
	if (one_in(w, 200))
		return TRN_MIB(below(w, 512));
	if (one_in(w, 3))
		return 1 + below(w, 300);
	return TRN_PAGE * (1 + below(w, 16));
}

static __u64 any_offset(struct worker *w)
{
	return one_in(w, 2) ? 0 : 16 * below(w, 1024);
}

static void make_ops(struct worker *w, __u32 stride);

static __u64 value(struct worker *w, const struct member *m, __u32 stride)
{
	struct shared *s = w->shared;
	unsigned int i;

	switch (m->kind) {
	case ONE_OF:
		return m->arg ? below(w, m->arg) : stride;
	case BITS:
		return one_in(w, 2) ? 0 : m->arg & trn_rand(&w->seed) & trn_rand(&w->seed);
	case SIZE:
		return m->arg ? m->arg * (1 + below(w, 8)) : any_size(w);
	case OFFSET:
		return one_in(w, 2) && m->arg ? 0 : any_offset(w);
	case HANDLE:
		return one_in(w, 2) && m->arg ? 0 : s->handle[below(w, POOL)];
	case QUEUE:
		return s->queue[below(w, POOL)];
	case SYNCOBJ:
		return s->syncobj[below(w, POOL)];
	case FD:
		return one_in(w, 20) ? below(w, 8) : s->file[below(w, POOL)];
	case COUNT:
		return one_in(w, 50) ? wild(w) & 0xffff : below(w, m->arg);
	case DEADLINE:
		return trn_now() - TRN_MSEC + below(w, 3 * TRN_MSEC);
	case POINTER:
		if (m->arg)	/* userptr: of one call in three */
			return one_in(w, 3) ? trn_ptr(s->arena + below(w, ARENA)) : 0;
		return trn_ptr(w->room);
	case OPS:
		make_ops(w, stride);
		return trn_ptr(w->ops);
	case SYNCS:
		for (i = 0; i < ARRAY_SIZE(w->syncs); i++)
			w->syncs[i] = (struct drm_trainium_sync) {
				.handle = s->syncobj[below(w, POOL)],
				.point = below(w, 5),
				.flags = one_in(w, 100),
			};
		return trn_ptr(w->syncs);
	case HANDLES:
		for (i = 0; i < ARRAY_SIZE(w->handles); i++)
			w->handles[i] = s->syncobj[below(w, POOL)];
		return trn_ptr(w->handles);
	case POINTS:
		for (i = 0; i < NUM_POINTS; i++)
			w->points[i] = below(w, 6);
		return trn_ptr(w->points);
	case ANYTHING:
		return wild(w);
	default:
		return m->arg == ANYTHING ? s->key : 0;
	}
}

static void make_ops(struct worker *w, __u32 stride)
{
	unsigned int i, n;

	memset(w->ops, 0, sizeof(w->ops));
	n = stride ? sizeof(w->ops) / stride : 0;
	if (n > MAX_OPS)
		n = MAX_OPS;
	for (i = 0; i < n; i++) {
		struct drm_trainium_op_strided *st = (void *)(w->ops + i * stride);
		struct drm_trainium_op *op = &st->op;

		op->type = below(w, 9);
		op->flags = one_in(w, 2) ? 0 : below(w, 8);
		op->dst = w->shared->handle[below(w, POOL)];
		op->dst_offset = any_offset(w);
		op->size = one_in(w, 2) ? 8 << below(w, 10) : any_size(w);
		switch (op->type) {
		case TRAINIUM_OP_FILL:
			op->pattern_size = 1 << below(w, 4);
			op->pattern = below(w, 256);
			break;
		case TRAINIUM_OP_TIMESTAMP:
			op->size = 8;
			break;
		case TRAINIUM_OP_REDUCE:
		case TRAINIUM_OP_ACCUMULATE:
			op->flags |= TRAINIUM_OP_F_COMBINE(below(w, 4), below(w, 9));
			break;
		}
		if (op->type != TRAINIUM_OP_FILL && op->type != TRAINIUM_OP_TIMESTAMP) {
			op->src = w->shared->handle[below(w, POOL)];
			op->src_offset = any_offset(w);
		}
		if (op->type >= TRAINIUM_OP_SIGNAL && !one_in(w, 4)) {
			op->size = 8;
			op->pattern_size = 8;
			op->pattern = below(w, 2);
		}
		if (op->type == TRAINIUM_OP_COPY_STRIDED && stride >= sizeof(*st)) {
			st->rows = 1 + below(w, 8);
			st->planes = 1 + below(w, 3);
			st->dst_row_pitch = any_size(w);
			st->src_row_pitch = any_size(w);
			st->dst_plane_pitch = any_size(w);
			st->src_plane_pitch = any_size(w);
		}
		if (one_in(w, 30)) {
			__u64 *word = (__u64 *)op + below(w, sizeof(*op) / 8);

			*word = wild(w);
		}
	}
}

static void set(void *arg, const struct member *m, __u64 v)
{
	memcpy((char *)arg + m->offset, &v, m->size);
}

static __u64 get(const void *arg, const struct member *m)
{
	__u64 v = 0;

	memcpy(&v, (const char *)arg + m->offset, m->size);
	return v;
}

/* What a call has made takes the place of something else, which may be leaked. */
static void keep(struct worker *w, enum kind what, __u64 v)
{
	struct shared *s = w->shared;
	unsigned int i = below(w, POOL);
	struct drm_gem_close gem = { .handle = s->handle[i] };
	struct drm_syncobj_destroy syncobj = { .handle = s->syncobj[i] };

	switch (what) {
	case HANDLE:
		s->handle[i] = v;
		trn_ioctl(s->fd, DRM_IOCTL_GEM_CLOSE, &gem);
		break;
	case QUEUE:
		trn_queue_destroy(s->fd, s->queue[i]);
		s->queue[i] = v;
		break;
	case SYNCOBJ:
		trn_ioctl(s->fd, DRM_IOCTL_SYNCOBJ_DESTROY, &syncobj);
		s->syncobj[i] = v;
		break;
	case FD:
		/* Never a file that is not the fuzzer's to close */
		if (s->file[i] > s->fd)
			close(s->file[i]);
		s->file[i] = v;
		break;
	default:
		s->key = v;
	}
}

/* Is it the fuzzer's to be written, or nobody's? */
static bool harmless(const struct worker *w, __u64 address)
{
	return address - trn_ptr(w->room) < ROOM ||
	       address - trn_ptr(w->shared->arena) < ARENA || address < TRN_KIB(64) ||
	       address >> 47;
}

/*
 * No call may sleep for long, none make the core warn of a table too large, and
 * none have the kernel or an engine write to the fuzzer's own stacks.
 */
static void tame(struct worker *w, const struct call *c, void *arg)
{
	const struct member *m;

	for (m = c->members; m->kind; m++) {
		if (m->kind == DEADLINE && (__s64)get(arg, m) > trn_now() + 3 * TRN_MSEC)
			set(arg, m, trn_now() + TRN_MSEC);
		if (m->kind == COUNT && !strncmp(c->name, "SYNCOBJ", 7))
			set(arg, m, get(arg, m) & 0xfff);
		if ((m->kind == POINTER || m->kind == POINTS) && !harmless(w, get(arg, m)))
			set(arg, m, get(arg, m) | 1ull << 63);
	}
}

static bool known(int error)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(known_errors); i++)
		if (known_errors[i] == error)
			return true;
	return false;
}

static void one_call(struct worker *w)
{
	const struct call *c = &calls[below(w, NUM_CALLS)];
	__u32 stride = one_in(w, 3) ? sizeof(struct drm_trainium_op_strided) :
		       sizeof(struct drm_trainium_op);
	unsigned long request = c->request;
	/* Longer than the call's, when its size is made up */
	__u8 arg[512] = {};
	const struct member *m;
	int ret;

	if (!one_in(w, c->rarity))
		return;
	if (one_in(w, 100))
		stride = wild(w);
	for (m = c->members; m->kind; m++)
		set(arg, m, value(w, m, stride));
	if (one_in(w, 8)) {		/* one member is nonsense */
		for (m = c->members; m[1].kind && !one_in(w, 4); m++)
			;
		set(arg, m, wild(w));
	}
	if (one_in(w, 50))		/* one byte, of what is no member, too */
		arg[below(w, c->size)] ^= 1 << below(w, 8);
	tame(w, c, arg);
	if (one_in(w, 200))		/* an older or newer structure */
		request = _IOC(_IOC_DIR(request), _IOC_TYPE(request), _IOC_NR(request),
			       below(w, sizeof(arg)));
	ret = trn_ioctl(w->shared->fd, request, one_in(w, 500) ? (void *)8 : arg);
	w->done++;
	if (ret < 0 && !known(-ret))
		snprintf(w->error, sizeof(w->error), "%s: error %d", c->name, -ret);
	if (ret || request != c->request)
		return;
	w->succeeded++;
	for (m = c->members; m->kind; m++)
		if (m->kind == RESULT && get(arg, m))
			keep(w, m->arg, get(arg, m));
}

/* What is no ioctl: mappings, event records, memory that goes away */
static void one_other(struct worker *w)
{
	struct shared *s = w->shared;
	struct drm_trainium_bo_info info = { .handle = s->handle[below(w, POOL)] };
	struct pollfd poll_fd = { .fd = s->file[below(w, POOL)], .events = POLLIN };
	char record[256];
	size_t size;
	void *p;

	switch (below(w, 4)) {
	case 0:
		if (trn_ioctl(s->fd, DRM_IOCTL_TRAINIUM_BO_INFO, &info))
			break;
		if (one_in(w, 10))
			info.mmap_offset = wild(w);
		size = one_in(w, 10) ? TRN_MIB(1) : TRN_PAGE;
		p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd,
			 info.mmap_offset);
		if (p == MAP_FAILED)
			break;
		/* May be refused with a signal after a reset: only as an argument */
		trn_query(s->fd, TRAINIUM_QUERY_DEVICE, 0, p, 64);
		munmap(p, size);
		break;
	case 1:
		/* Another thread may have taken what poll() has seen. */
		if (poll(&poll_fd, 1, 0) == 1 && (poll_fd.revents & POLLIN) &&
		    poll_fd.fd > s->fd && !fcntl(poll_fd.fd, F_SETFL, O_NONBLOCK) &&
		    read(poll_fd.fd, record, below(w, sizeof(record))) < 0 &&
		    !known(errno))
			snprintf(w->error, sizeof(w->error), "read: error %d", errno);
		break;
	case 2:
		madvise(s->arena + ARENA / 2, ARENA / 2, MADV_DONTNEED);
		break;
	default:
		p = mmap(s->arena + ARENA / 2, ARENA / 2,
			 one_in(w, 2) ? PROT_READ : PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		break;
	}
}

static void *work(void *arg)
{
	struct worker *w = arg;

	while (w->done < w->calls && !w->error[0]) {
		if (one_in(w, 100))
			one_other(w);
		else
			one_call(w);
	}
	return NULL;
}

/* Pinned memory is limited for all, also for who has privileges. */
static int limit_memory(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct rlimit limit = { TRN_MIB(64), TRN_MIB(64) };
	struct __user_cap_data_struct data[2];

	if (setrlimit(RLIMIT_MEMLOCK, &limit) || syscall(SYS_capget, &header, data))
		return -errno;
	data[0].effective &= ~(1u << CAP_IPC_LOCK);
	data[0].permitted &= ~(1u << CAP_IPC_LOCK);
	return syscall(SYS_capset, &header, data) ? -errno : 0;
}

/* Returns 0, or 1 after it has said what went wrong. */
static int process(unsigned int number, __u64 seed, unsigned int count)
{
	struct worker *w = calloc(THREADS, sizeof(*w));
	struct shared shared = { .fd = trn_open(number % trn_num_devices()) };
	pthread_t thread[THREADS];
	unsigned int i;
	int ret = 0;

	/* What is pinned must not reach what lies behind: stacks, the harness. */
	shared.arena = mmap(NULL, ARENA + ROOM, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!w || shared.fd < 0 || shared.arena == MAP_FAILED ||
	    mprotect(shared.arena + ARENA, ROOM, PROT_NONE))
		return 1;
	for (i = 0; i < POOL; i++)
		shared.file[i] = -1;
	/* All but the first have no privileges. */
	if (limit_memory() || (number && trn_become_user()))
		return 1;
	for (i = 0; i < THREADS; i++) {
		w[i].shared = &shared;
		w[i].room = mmap(NULL, 2 * ROOM, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (w[i].room == MAP_FAILED || mprotect(w[i].room + ROOM, ROOM, PROT_NONE))
			return 1;
		w[i].points = (__u64 *)(w[i].room + ROOM) - NUM_POINTS;
		w[i].seed = seed + i * 1000 + 1;
		w[i].calls = count / THREADS;
		if (pthread_create(&thread[i], NULL, work, &w[i]))
			return 1;
	}
	for (i = 0; i < THREADS; i++) {
		pthread_join(thread[i], NULL);
		printf("# worker %u thread %u: %u calls, %u succeeded\n", number, i,
		       w[i].done, w[i].succeeded);
		/* Were nothing accepted, nothing would have been tried. */
		if (w[i].error[0] || w[i].succeeded < w[i].done / 50) {
			printf("# seed %llx: %s\n", (unsigned long long)seed,
			       w[i].error[0] ? w[i].error : "hardly a call succeeds");
			ret = 1;
		}
	}
	fflush(stdout);
	return ret;
}

FIXTURE(fuzz) {
	struct trn_snapshot base[2];
	int fd[2];
	unsigned int num;
	int log;
};

FIXTURE_SETUP(fuzz)
{
	unsigned int i;

	self->log = trn_log_open();
	/* A handle may be forgotten: its memory must not be all there is. */
	ASSERT_EQ(0, trn_set_param("max_file_pinned", 128));
	self->num = trn_num_devices() > 1 ? 2 : 1;
	for (i = 0; i < self->num; i++) {
		self->fd[i] = trn_open(i);
		ASSERT_LE(0, self->fd[i]);
		ASSERT_EQ(0, trn_snapshot(self->fd[i], &self->base[i]));
	}
}

FIXTURE_TEARDOWN(fuzz)
{
	char line[1024];
	unsigned int i;

	EXPECT_EQ(0, trn_set_param("max_file_pinned", 0));
	for (i = 0; i < self->num; i++) {
		EXPECT_EQ(NULL, trn_settle(self->fd[i], &self->base[i], 20 * TRN_SEC)) {
			TH_LOG("device %u: %s", i,
			       trn_settle(self->fd[i], &self->base[i], 0) ?: "late");
		}
		close(self->fd[i]);
	}
	EXPECT_FALSE(trn_log_fault(self->log, line, sizeof(line))) {
		TH_LOG("%s", line);
	}
	close(self->log);
}

static int copy_works(unsigned int n)
{
	struct trn_bo host, hbm;
	int fd = trn_open(n);
	__u32 queue;

	if (fd < 0 || trn_queue_create(fd, TRAINIUM_STACK_ANY, 0, &queue) ||
	    trn_host_new(fd, TRN_KIB(64), &host) || trn_hbm_new(fd, 0, TRN_KIB(64), &hbm))
		return -1;
	trn_pattern(host.map, 0, host.size, 7);
	if (trn_copy(fd, queue, hbm.handle, 0, host.handle, 0, host.size))
		return -2;
	memset(host.map, 0, host.size);
	if (trn_copy(fd, queue, host.handle, 0, hbm.handle, 0, host.size))
		return -3;
	if (trn_check(host.map, 0, host.size, 7) != -1)
		return -4;
	trn_bo_put(fd, &host);
	trn_bo_put(fd, &hbm);
	close(fd);
	return 0;
}

TEST_F_TIMEOUT(fuzz, calls, 3600)
{
	unsigned int count = getenv("TRAINIUM_FUZZ_CALLS") ?
			     strtoul(getenv("TRAINIUM_FUZZ_CALLS"), NULL, 0) : CALLS / trn_limit(1);
	__u64 seed = getenv("TRAINIUM_FUZZ_SEED") ?
		     strtoull(getenv("TRAINIUM_FUZZ_SEED"), NULL, 16) : (__u64)trn_now();
	__s64 end = trn_now() + 3000 * TRN_SEC;
	pid_t pid[PROCESSES];
	unsigned int i;

	TH_LOG("TRAINIUM_FUZZ_SEED=%llx TRAINIUM_FUZZ_CALLS=%u", (unsigned long long)seed, count);
	for (i = 0; i < PROCESSES; i++) {
		pid[i] = trn_fork();
		ASSERT_LE(0, pid[i]);
		if (!pid[i])
			_exit(process(i, seed + i * 1000000, count / PROCESSES));
	}
	for (i = 0; i < PROCESSES; i++)
		EXPECT_EQ(0, trn_reap(pid[i], end - trn_now()));
	for (i = 0; i < self->num; i++)
		EXPECT_EQ(0, copy_works(i));
}

TEST_HARNESS_MAIN
