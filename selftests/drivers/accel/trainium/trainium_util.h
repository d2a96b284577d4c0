/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the Trainium selftests share: thin wrappers around the ioctls, data
 * patterns, and a look at the kernel's side (sysfs, debugfs, kernel log).
 *
 * Every wrapper returns 0 or a negative errno and never retries.
 */
#ifndef TRAINIUM_UTIL_H
#define TRAINIUM_UTIL_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/types.h>

#include <drm/trainium_accel.h>

/* Younger than some of the drm.h this has to build with. */
#ifndef DRM_IOCTL_SYNCOBJ_EVENTFD
struct drm_syncobj_eventfd {
	__u32 handle;
	__u32 flags;
	__u64 point;
	__s32 fd;
	__u32 pad;
};

#define DRM_IOCTL_SYNCOBJ_EVENTFD	DRM_IOWR(0xCF, struct drm_syncobj_eventfd)
#endif

#define TRN_PAGE	4096ull
#define TRN_KIB(n)	((__u64)(n) << 10)
#define TRN_MIB(n)	((__u64)(n) << 20)
#define TRN_GIB(n)	((__u64)(n) << 30)
#define TRN_MSEC	1000000ll
#define TRN_SEC		1000000000ll

/*
 * How long something may take: @ns, and more of it where TRAINIUM_TEST_SLOW says
 * that all is that many times slower, as it is on a kernel with KASAN.
 */
__s64 trn_limit(__s64 ns);

/* Longer than any job of these tests may take on a loaded machine */
#define TRN_PATIENCE	trn_limit(20 * TRN_SEC)

/* The harness ends tests at times of its own: let them be limits, too. */
#ifdef TEST_TIMEOUT_DEFAULT
#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT	(trn_limit(30 * TRN_SEC) / TRN_SEC)
#undef TEST_F_TIMEOUT
#define TEST_F_TIMEOUT(fixture_name, test_name, seconds) \
	__TEST_F_IMPL(fixture_name, test_name, -1, trn_limit((seconds) * TRN_SEC) / TRN_SEC)
#endif

#define TRN_MAX_STACKS	8
#define TRN_MAX_ENGINES	256

static inline __u64 trn_ptr(const void *p)
{
	return (uintptr_t)p;
}

static inline int trn_ioctl(int fd, unsigned long request, void *arg)
{
	return ioctl(fd, request, arg) ? -errno : 0;
}

/* Devices: numbered in the order of their accel minors */
unsigned int trn_num_devices(void);
int trn_open(unsigned int n);
/* "0000:00:03.0"; static storage, one for each n below 8 */
const char *trn_bdf(unsigned int n);
int trn_open_bdf(const char *bdf);
/* The same, after binding the driver if need be */
int trn_open_again(const char *bdf);
/* /dev/accel/accelN of a device, -1 when it has none (now) */
int trn_minor_of(const char *bdf);

/* A node that any member of TRN_TEST_GID may open; removed by the caller */
#define TRN_TEST_UID	65534
#define TRN_TEST_GID	4242
int trn_user_node(unsigned int n, char *path, size_t size);
int trn_become_user(void);

/* Queries */
int trn_query(int fd, __u32 type, __u32 index, void *data, __u32 size);
int trn_device(int fd, struct drm_trainium_query_device *device);
int trn_memory(int fd, unsigned int stack, struct drm_trainium_query_memory *memory);
int trn_engine(int fd, unsigned int engine, struct drm_trainium_query_engine *info);
int trn_limits(int fd, struct drm_trainium_query_limits *limits);
int trn_queue(int fd, __u32 queue, struct drm_trainium_query_queue *info);
bool trn_has(int fd, __u64 feature);

/* Buffers */
struct trn_bo {
	__u32 handle;
	__u64 size;
	__u8 *map;	/* NULL when it cannot be mapped */
};

int trn_bo_create(int fd, __u32 placement, __u32 stack, __u64 size, __u32 *handle);
int trn_bo_userptr(int fd, const void *ptr, __u64 size, __u32 flags, __u32 *handle);
int trn_bo_info(int fd, __u32 handle, struct drm_trainium_bo_info *info);
void *trn_map(int fd, __u32 handle, __u64 size);
int trn_close_handle(int fd, __u32 handle);
/* Creates and maps */
int trn_bo_new(int fd, __u32 placement, __u32 stack, __u64 size, struct trn_bo *bo);
void trn_bo_put(int fd, struct trn_bo *bo);
#define trn_hbm_new(fd, stack, size, bo) \
	trn_bo_new(fd, TRAINIUM_BO_HBM, stack, size, bo)
#define trn_host_new(fd, size, bo) \
	trn_bo_new(fd, TRAINIUM_BO_HOST, 0, size, bo)

/* Queues and jobs */
int trn_queue_create(int fd, __u32 stack, __u32 engines, __u32 *queue);
int trn_queue_destroy(int fd, __u32 queue);
struct drm_trainium_op trn_op_copy(__u32 dst, __u64 dst_offset, __u32 src,
				   __u64 src_offset, __u64 size);
struct drm_trainium_op trn_op_fill(__u32 dst, __u64 offset, __u64 size,
				   __u64 pattern, __u32 pattern_size);
struct drm_trainium_submit trn_job(__u32 queue, const struct drm_trainium_op *ops,
				   __u32 count);
int trn_submit(int fd, struct drm_trainium_submit *submit);
/* Submits and waits: -EINPROGRESS when the job is still pending after @ns */
int trn_run_for(int fd, __u32 queue, const struct drm_trainium_op *ops, __u32 count,
		__s64 ns);
int trn_run(int fd, __u32 queue, const struct drm_trainium_op *ops, __u32 count);
int trn_copy(int fd, __u32 queue, __u32 dst, __u64 dst_offset, __u32 src,
	     __u64 src_offset, __u64 size);
int trn_fill(int fd, __u32 queue, __u32 dst, __u64 offset, __u64 size, __u64 pattern,
	     __u32 pattern_size);
int trn_drain(int fd, __u32 queue);

/* Syncobjs */
int trn_sync_create(int fd, __u32 *handle);
int trn_sync_destroy(int fd, __u32 handle);
int trn_sync_wait(int fd, __u32 handle, __u64 point, __s64 ns);
int trn_sync_signal(int fd, __u32 handle, __u64 point);
int trn_sync_query(int fd, __u32 handle, __u64 *point);
int trn_sync_export(int fd, __u32 handle, int *out);
int trn_sync_import(int fd, int in, __u32 *handle);
/* The fence of a binary syncobj as a sync_file */
int trn_sync_export_file(int fd, __u32 handle, int *out);
/* The error of a signalled sync_file: 1 no error, 0 pending, else -errno */
int trn_sync_file_status(int file);

/*
 * A fence that signals when the test says so, from sw_sync where the kernel has
 * it, else from vgem (which lets it signal by itself after 10 s). For what has to
 * happen while a job waits.
 */
struct trn_gate {
	int vgem;
	__u32 handle;	/* the buffer in vgem that has the fence as its writer's */
	__u32 fence;
	int timeline;	/* of sw_sync, or negative */
	int file;	/* sync_file */
};

/* -ENODEV when the kernel has no vgem */
int trn_gate_open(struct trn_gate *gate);
/* A new binary syncobj with the fence */
int trn_gate_sync(struct trn_gate *gate, int fd, __u32 *handle);
/* That buffer as a dma-buf */
int trn_gate_export(struct trn_gate *gate, int *out);
int trn_gate_release(struct trn_gate *gate);
void trn_gate_close(struct trn_gate *gate);

/* Memory of other drivers as a dma-buf, mapped, zeroed */
enum trn_partner_kind {
	TRN_UDMABUF,
	TRN_DMA_HEAP,
	TRN_VGEM,
};

struct trn_partner {
	int dev;
	int buf;
	__u64 size;
	__u8 *map;
};

/* -ENODEV when the kernel does not have it */
int trn_partner_open(struct trn_partner *partner, enum trn_partner_kind kind, __u64 size);
void trn_partner_close(struct trn_partner *partner);
/* vgem as an importer: says that it writes a buffer, until it is told to end */
int trn_vgem_open(void);
int trn_vgem_attach(int vgem, __u32 handle, __u32 *fence);
int trn_vgem_signal(int vgem, __u32 fence);

/* PRIME */
int trn_export(int fd, __u32 handle, int *out);
int trn_import(int fd, int in, __u32 *handle);

/* Time and chance */
__s64 trn_now(void);
void trn_sleep(__s64 ns);
__u64 trn_rand(__u64 *state);
__u64 trn_rand_below(__u64 *state, __u64 limit);

/* A pattern that tells every place of every seed from the others */
void trn_pattern(void *p, __u64 first, __u64 len, __u64 seed);
/* Offset of the first byte that differs, -1 when none does */
__s64 trn_check(const void *p, __u64 first, __u64 len, __u64 seed);
__s64 trn_check_byte(const void *p, __u64 len, __u8 byte);

/* Files: length or negative errno; always terminated */
int trn_read_file(const char *path, char *buf, size_t size);
int trn_write_file(const char *path, const char *text);
int trn_read_sysfs(const char *bdf, const char *name, char *buf, size_t size);
int trn_write_sysfs(const char *bdf, const char *name, const char *text);
/* The first number after @key in a file, ~0 when there is none */
__u64 trn_number_in(const char *path, const char *key);
/* Interrupts that the device has raised, over all its vectors */
__u64 trn_interrupts(const char *bdf);

/* Tracepoints of the driver: switch one, forget all lines, count those with both texts */
int trn_trace(const char *event, bool on);
void trn_trace_clear(void);
unsigned int trn_traced(const char *text, const char *with);
/* Calls @fn with each line. */
void trn_trace_each(void (*fn)(const char *line, void *arg), void *arg);

/* Parameters of the module; -errno */
int trn_set_param(const char *name, __u64 value);
__u64 trn_get_param(const char *name);

/* Processes */
pid_t trn_fork(void);
/* Exit status, 128 + signal, or -ETIME when it did not end in time */
int trn_reap(pid_t pid, __s64 ns);
int trn_in_child(int (*fn)(void *arg), void *arg);

/* DMA-API debugging: no mapping goes without its syncs, none may overlap another. */
bool trn_dma_debug(void);

/* Kernel log: what is new since trn_log_open() and looks like a fault */
int trn_log_open(void);
bool trn_log_fault(int log, char *line, size_t size);
/* True when a new line has @text */
bool trn_log_find(int log, const char *text);

/* What a generation has, of which the queries tell */
struct trn_generation {
	const char *name;
	unsigned int cores, stacks, dies, engines;
};

/* NULL when there is no such generation */
const struct trn_generation *trn_generation(unsigned int number);

/* What a device has to give */
struct trn_snapshot {
	unsigned int stacks;
	unsigned int engines;
	__u64 free[TRN_MAX_STACKS];
	__u64 largest[TRN_MAX_STACKS];
	__u32 bo_count[TRN_MAX_STACKS];
	__u32 rings_free[TRN_MAX_ENGINES];
};

int trn_snapshot(int fd, struct trn_snapshot *snapshot);
/* NULL when both are equal, else what differs */
const char *trn_snapshot_diff(const struct trn_snapshot *a, const struct trn_snapshot *b);
/* Waits trn_limit(ns) for the device to be as in @base again: NULL, or what is not */
const char *trn_settle(int fd, const struct trn_snapshot *base, __s64 ns);

#endif
