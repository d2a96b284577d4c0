// SPDX-License-Identifier: GPL-2.0-only
/*
 * Calls without memory: every allocation that a call makes fails once, and so
 * does every copy from and to the caller. The call says so, has done nothing and
 * has lost nothing, and the next one works.
 *
 * The kernel counts down in /proc/thread-self/fail-nth and makes the n-th chance
 * of the thread to fail one that fails; n grows until a call has none left.
 */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <linux/dma-buf.h>
#include <linux/udmabuf.h>
#include <sys/mman.h>

#include "kselftest_harness.h"
#include "trainium_util.h"

#define DEBUGFS		"/sys/kernel/debug/"
#define SIZE		TRN_MIB(1)
#define MANY		16
/* More chances than any call has */
#define MAX_NTH		4000

/* Which chances count */
enum chances { ALLOCATIONS, USER_COPIES };

static int nth = -1;

/* Disarms first: what is armed would count this write, too. */
static int arm(unsigned int n)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%u", n), i;

	for (i = 0; i < 3; i++)
		if (pwrite(nth, text, len, 0) == len)
			return 0;
	return -errno;
}

/* Whether something has failed since arm() */
static bool disarm(void)
{
	char text[16] = "";
	/* Can only fail by what is armed, which then has not come before. */
	bool fired = pread(nth, text, sizeof(text) - 1, 0) > 0 && !atoi(text);

	arm(0);
	return fired;
}

static int attribute(const char *kind, const char *name, const char *text)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), DEBUGFS "%s/%s", kind, name);
	return trn_write_file(path, text);
}

/* Between these addresses, by the call stack; from == to: never */
static int limit_to(const char *kind, __u64 from, __u64 to)
{
	char text[32];
	int ret;

	snprintf(text, sizeof(text), "%llu", from);
	ret = attribute(kind, "require-start", text);
	snprintf(text, sizeof(text), "%llu", to);
	return ret ?: attribute(kind, "require-end", text) ?:
	       attribute(kind, "stacktrace-depth", "32") ?:
	       attribute(kind, "verbose", "0");
}

/*
 * What is not to fail: memory of those who watch, as DMA-API debugging ends with
 * its first failure; and what procfs keeps of interrupts, as the interrupt core
 * does not look whether it is there and warns when it removes it.
 */
static int spare_others(void)
{
	FILE *f = fopen("/proc/kallsyms", "r");
	unsigned long long addr, from = 0, to = 0;
	struct dirent *e;
	char line[512], name[256], text[32];
	DIR *caches = opendir("/sys/kernel/slab");
	int marked = 0;

	/* Functions of kernel/dma/debug.c follow each other. */
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%llx %*c %255s", &addr, name) != 2)
			continue;
		if (!strcmp(name, "add_dma_entry") || !strncmp(name, "debug_dma_", 10)) {
			from = from && from < addr ? from : addr;
			to = to > addr ? to : addr;
		}
	}
	if (f)
		fclose(f);
	snprintf(text, sizeof(text), "%llu", from ?: 1);
	if (attribute("failslab", "reject-start", text))
		return -ENOENT;
	snprintf(text, sizeof(text), "%llu", from ? to + 1024 : 1);
	if (attribute("failslab", "reject-end", text))
		return -ENOENT;
	while (caches && (e = readdir(caches))) {
		snprintf(line, sizeof(line), "/sys/kernel/slab/%.256s/failslab", e->d_name);
		marked += !trn_write_file(line, strcmp(e->d_name, "proc_dir_entry") ? "1" : "0");
	}
	if (caches)
		closedir(caches);
	/* Without such files (SLUB_DEBUG) all caches count. */
	return marked ? attribute("failslab", "cache-filter", "Y") : 0;
}

static int choose(enum chances chances, __u64 from, __u64 to)
{
	bool slab = chances == ALLOCATIONS;

	return spare_others() ?:
	       attribute("failslab", "ignore-gfp-wait", "N") ?:
	       attribute("fail_page_alloc", "ignore-gfp-wait", "N") ?:
	       attribute("fail_page_alloc", "ignore-gfp-highmem", "N") ?:
	       attribute("fail_page_alloc", "min-order", "0") ?:
	       limit_to("failslab", slab ? from : 1, slab ? to : 1) ?:
	       limit_to("fail_page_alloc", slab ? from : 1, slab ? to : 1) ?:
	       limit_to("fail_usercopy", slab ? 1 : from, slab ? 1 : to);
}

/* Code of the module */
static int module_text(__u64 *from, __u64 *to)
{
	FILE *f = fopen("/proc/kallsyms", "r");
	unsigned long long addr;
	char line[512], type;

	if (!f)
		return -errno;
	*from = ~0ull;
	*to = 0;
	while (fgets(line, sizeof(line), f)) {
		if (!strstr(line, "[trainium]") ||
		    sscanf(line, "%llx %c", &addr, &type) != 2 || (type | 32) != 't')
			continue;
		*from = addr < *from ? addr : *from;
		*to = addr > *to ? addr : *to;
	}
	fclose(f);
	/* Where the last function ends is not said. */
	*to += 4096;
	return *from < *to ? 0 : -ENOENT;
}

/* A file with all that calls use, and what the last call has made */
struct state {
	char node[64];
	int fd;
	struct trn_snapshot before;
	__u64 memory;
	__u32 queue;
	__u32 hbm, host;
	__u32 bo[MANY];
	__u32 in, out, timeline;
	__u64 point;
	__u8 *user;
	int udmabuf;
	struct trn_gate gate;
	pthread_t thread;

	__u32 made;
	int made_fd;
	void *made_map;
};

FIXTURE(faultinject) {
	struct state s;
	struct trn_snapshot base;
	int log;
};

/* In one call: a search for the device would have failures of its own. */
static int open_node(struct state *s, int *fd)
{
	*fd = open(s->node, O_RDWR | O_CLOEXEC);
	return *fd < 0 ? -errno : 0;
}

FIXTURE_SETUP(faultinject)
{
	int fd;

	nth = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	if (nth < 0 || access(DEBUGFS "failslab", F_OK))
		SKIP(return, "the kernel injects no faults (CONFIG_FAULT_INJECTION)");
	self->log = trn_log_open();
	ASSERT_NE(NULL, trn_bdf(0));
	snprintf(self->s.node, sizeof(self->s.node), "/dev/accel/accel%d",
		 trn_minor_of(trn_bdf(0)));
	ASSERT_EQ(0, open_node(&self->s, &fd));
	ASSERT_EQ(0, trn_snapshot(fd, &self->base));
	close(fd);
	self->s.user = mmap(NULL, SIZE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	ASSERT_NE(MAP_FAILED, self->s.user);
}

FIXTURE_TEARDOWN(faultinject)
{
	char line[1024];
	int fd;

	arm(0);
	choose(ALLOCATIONS, 0, ULONG_MAX);
	ASSERT_EQ(0, open_node(&self->s, &fd));
	EXPECT_EQ(NULL, trn_settle(fd, &self->base, 2 * TRN_SEC)) {
		TH_LOG("%s", trn_settle(fd, &self->base, 0) ?: "late");
	}
	close(fd);
	EXPECT_FALSE(trn_log_fault(self->log, line, sizeof(line))) TH_LOG("%s", line);
	close(self->log);
	close(nth);
}

/* Memory of the file, of all kinds */
static __u64 file_memory(int fd)
{
	static const char *const regions[] = { "memory", "hbm0", "hbm1", "hbm2", "hbm3" };
	char path[64], key[64];
	__u64 sum = 0;
	unsigned int i;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	for (i = 0; i < ARRAY_SIZE(regions); i++) {
		snprintf(key, sizeof(key), "drm-total-%s:", regions[i]);
		sum += trn_number_in(path, key);
	}
	return sum;
}

static int begin(struct state *s)
{
	int ret, i;

	ret = open_node(s, &s->fd);
	if (ret)
		return ret;
	ret = trn_queue_create(s->fd, TRAINIUM_STACK_ANY, 0, &s->queue) ?:
	      trn_bo_create(s->fd, TRAINIUM_BO_HBM, 0, SIZE, &s->hbm) ?:
	      trn_bo_create(s->fd, TRAINIUM_BO_HOST, 0, SIZE, &s->host) ?:
	      trn_sync_create(s->fd, &s->in) ?: trn_sync_create(s->fd, &s->out) ?:
	      trn_sync_create(s->fd, &s->timeline) ?: trn_sync_signal(s->fd, s->in, 0);
	for (i = 0; i < MANY && !ret; i++)
		ret = trn_bo_create(s->fd, TRAINIUM_BO_HBM, i % 4, TRN_PAGE, &s->bo[i]);
	s->point = 0;
	if (ret)
		return ret;
	s->memory = file_memory(s->fd);
	return trn_snapshot(s->fd, &s->before);
}

/* Calls, and what undoes them */

static int call_open(struct state *s)
{
	return open_node(s, &s->made_fd);
}

static int undo_fd(struct state *s)
{
	return close(s->made_fd) ? -errno : 0;
}

static int call_close(struct state *s)
{
	return close(s->made_fd) ? -errno : 0;
}

/* A file that leaves all kinds of things behind */
static int full_file(struct state *s)
{
	struct drm_trainium_op op;
	__u32 queue, bo, host;
	int ret, fd;

	ret = open_node(s, &s->made_fd);
	if (ret)
		return ret;
	fd = s->made_fd;
	if (trn_queue_create(fd, TRAINIUM_STACK_ANY, 2, &queue) ||
	    trn_bo_create(fd, TRAINIUM_BO_HBM, 1, SIZE, &bo) ||
	    trn_bo_create(fd, TRAINIUM_BO_HOST, 0, SIZE, &host))
		return -EIO;
	op = trn_op_copy(bo, 0, host, 0, SIZE);
	return trn_run(fd, queue, &op, 1);
}

static int call_query(struct state *s)
{
	struct drm_trainium_query_device device;
	struct drm_trainium_query_queue queue;

	return trn_device(s->fd, &device) ?: trn_queue(s->fd, s->queue, &queue);
}

static int call_bo_hbm(struct state *s)
{
	return trn_bo_create(s->fd, TRAINIUM_BO_HBM, TRAINIUM_STACK_ANY, SIZE, &s->made);
}

static int call_bo_host(struct state *s)
{
	return trn_bo_create(s->fd, TRAINIUM_BO_HOST, 0, SIZE, &s->made);
}

static int call_bo_user(struct state *s)
{
	return trn_bo_userptr(s->fd, s->user + 100, SIZE - 200, 0, &s->made);
}

static int call_bo_info(struct state *s)
{
	struct drm_trainium_bo_info info;

	return trn_bo_info(s->fd, s->hbm, &info);
}

static int undo_bo(struct state *s)
{
	return trn_close_handle(s->fd, s->made);
}

static int call_queue_create(struct state *s)
{
	return trn_queue_create(s->fd, TRAINIUM_STACK_ANY, 6, &s->made);
}

static int call_queue_destroy(struct state *s)
{
	return trn_queue_destroy(s->fd, s->made);
}

static int call_copy(struct state *s)
{
	return trn_copy(s->fd, s->queue, s->hbm, 0, s->host, 0, TRN_PAGE);
}

static int call_copy_all(struct state *s)
{
	return trn_copy(s->fd, s->queue, s->hbm, 0, s->host, 0, SIZE);
}

/* The first one of a queue allocates what patterns are copied from. */
static int call_fill(struct state *s)
{
	return trn_fill(s->fd, s->made, s->hbm, 0, TRN_PAGE, 0x5a, 1);
}

static int call_many_buffers(struct state *s)
{
	struct drm_trainium_op ops[MANY];
	int i;

	for (i = 0; i < MANY; i++)
		ops[i] = trn_op_copy(s->bo[i], 0, s->host, i * 64, 64);
	return trn_run(s->fd, s->queue, ops, MANY);
}

/* Fences in and out; behind the fence of @in */
static int submit_synced(struct state *s)
{
	struct drm_trainium_op op = trn_op_copy(s->hbm, 0, s->host, 0, TRN_PAGE);
	struct drm_trainium_submit job = trn_job(s->queue, &op, 1);
	struct drm_trainium_sync in = { .handle = s->in };
	struct drm_trainium_sync out[] = {
		{ .handle = s->out },
		{ .handle = s->timeline, .point = s->point + 1 },
	};

	job.in_syncs = trn_ptr(&in);
	job.in_sync_count = 1;
	job.out_syncs = trn_ptr(out);
	job.out_sync_count = ARRAY_SIZE(out);
	return trn_submit(s->fd, &job);
}

static int undo_synced(struct state *s)
{
	s->point++;
	return trn_sync_wait(s->fd, s->out, 0, TRN_PATIENCE) ?:
	       trn_sync_wait(s->fd, s->timeline, s->point, TRN_PATIENCE);
}

static int call_strided(struct state *s)
{
	struct drm_trainium_op_strided op = {
		.op = trn_op_copy(s->hbm, 0, s->host, 0, 256),
		.rows = 8,
		.planes = 1,
		.dst_row_pitch = 512,
		.src_row_pitch = 1024,
	};
	struct drm_trainium_submit job = trn_job(s->queue, &op.op, 1);

	op.op.type = TRAINIUM_OP_COPY_STRIDED;
	job.op_stride = sizeof(op);
	job.flags = TRAINIUM_SUBMIT_WAIT;
	job.deadline_ns = trn_now() + TRN_PATIENCE;
	return trn_submit(s->fd, &job);
}

static void *release_soon(void *arg)
{
	trn_sleep(20 * TRN_MSEC);
	return trn_gate_release(arg) ? arg : NULL;
}

/*
 * Somebody else's fence is in a buffer, for a moment: a submit that has no memory
 * for a fence of its own waits until the job has ended.
 */
static int share_in_use(struct state *s)
{
	struct dma_buf_import_sync_file in = { .flags = DMA_BUF_SYNC_WRITE };
	int buf, ret;

	ret = trn_gate_open(&s->gate) ?: trn_export(s->fd, s->host, &buf);
	if (ret)
		return ret;
	in.fd = s->gate.file;
	ret = trn_ioctl(buf, DMA_BUF_IOCTL_IMPORT_SYNC_FILE, &in);
	close(buf);
	return ret ?: -pthread_create(&s->thread, NULL, release_soon, &s->gate);
}

static int call_shared(struct state *s)
{
	struct drm_trainium_op op = trn_op_copy(s->hbm, 0, s->host, 0, TRN_PAGE);
	struct drm_trainium_submit job = trn_job(s->queue, &op, 1);

	return trn_submit(s->fd, &job);
}

static int undo_shared(struct state *s)
{
	void *failed = NULL;
	int ret;

	pthread_join(s->thread, &failed);
	ret = failed ? -EIO : trn_drain(s->fd, s->queue);
	trn_gate_close(&s->gate);
	return ret;
}

static int call_list_create(struct state *s)
{
	struct drm_trainium_list_create args = {
		.op_count = MANY + 1,
		.op_stride = sizeof(struct drm_trainium_op),
		.stack = TRAINIUM_STACK_ANY,
	};
	struct drm_trainium_op ops[MANY + 1];
	int ret, i;

	for (i = 0; i < MANY; i++)
		ops[i] = trn_op_copy(s->bo[i], 0, s->host, i * 64, 64);
	ops[i] = trn_op_fill(s->hbm, 0, TRN_PAGE, 0x5b, 1);
	args.ops = trn_ptr(ops);
	ret = trn_ioctl(s->fd, DRM_IOCTL_TRAINIUM_LIST_CREATE, &args);
	s->made = args.list;
	return ret;
}

static int call_list_submit(struct state *s)
{
	struct drm_trainium_submit job = { .queue = s->made };
	struct drm_trainium_sync out[] = {
		{ .handle = s->out },
		{ .handle = s->timeline, .point = s->point + 1 },
	};

	job.out_syncs = trn_ptr(out);
	job.out_sync_count = ARRAY_SIZE(out);
	return trn_ioctl(s->fd, DRM_IOCTL_TRAINIUM_LIST_SUBMIT, &job);
}

static int undo_list_submit(struct state *s)
{
	return undo_synced(s) ?: call_queue_destroy(s);
}

static int call_export(struct state *s)
{
	return trn_export(s->fd, s->host, &s->made_fd);
}

/* A foreign buffer: one of the same device would be found by its handle. */
static int call_import(struct state *s)
{
	return trn_import(s->fd, s->udmabuf, &s->made);
}

static int make_udmabuf(struct state *s)
{
	struct udmabuf_create create = { .size = SIZE, .flags = UDMABUF_FLAGS_CLOEXEC };
	int dev = open("/dev/udmabuf", O_RDWR | O_CLOEXEC);

	create.memfd = memfd_create("faultinject", MFD_ALLOW_SEALING | MFD_CLOEXEC);
	if (dev < 0 || ftruncate(create.memfd, SIZE) ||
	    fcntl(create.memfd, F_ADD_SEALS, F_SEAL_SHRINK))
		return -ENODEV;
	s->udmabuf = ioctl(dev, UDMABUF_CREATE, &create);
	close(create.memfd);
	close(dev);
	return s->udmabuf < 0 ? -errno : 0;
}

static int undo_import(struct state *s)
{
	return trn_close_handle(s->fd, s->made) ?: close(s->udmabuf);
}

static int drop_udmabuf(struct state *s)
{
	return close(s->udmabuf);
}

static int call_events(struct state *s)
{
	struct drm_trainium_events events = {
		.types = 1ull << TRAINIUM_EVENT_RESET,
		.record_size = sizeof(struct drm_trainium_event),
	};
	int ret = trn_ioctl(s->fd, DRM_IOCTL_TRAINIUM_EVENTS, &events);

	s->made_fd = events.fd;
	return ret;
}

static int call_mmap(struct state *s)
{
	s->made_map = trn_map(s->fd, s->hbm, SIZE);
	return s->made_map == MAP_FAILED ? -errno : 0;
}

static int undo_mmap(struct state *s)
{
	return munmap(s->made_map, SIZE);
}

static int call_gem_close(struct state *s)
{
	return trn_close_handle(s->fd, s->made);
}

static int call_reset_core(struct state *s)
{
	struct drm_trainium_reset reset = { .scope = TRAINIUM_RESET_CORE };

	return trn_ioctl(s->fd, DRM_IOCTL_TRAINIUM_RESET, &reset);
}

static int call_reset_device(struct state *s)
{
	struct drm_trainium_reset reset = { .scope = TRAINIUM_RESET_DEVICE };

	return trn_ioctl(s->fd, DRM_IOCTL_TRAINIUM_RESET, &reset);
}

FIXTURE_VARIANT(faultinject) {
	int (*before)(struct state *s);	/* makes what the call takes away */
	int (*call)(struct state *s);
	int (*undo)(struct state *s);		/* of a call that succeeded */
	int (*drop)(struct state *s);		/* of a call that failed */
	bool must;			/* has no way to fail for want of memory */
};

FIXTURE_VARIANT_ADD(faultinject, open) {
	.call = call_open,
	.undo = undo_fd,
};

FIXTURE_VARIANT_ADD(faultinject, close) {
	.before = full_file,
	.call = call_close,
	.must = true,
};

FIXTURE_VARIANT_ADD(faultinject, query) {
	.call = call_query,
	.must = true,
};

FIXTURE_VARIANT_ADD(faultinject, bo_hbm) {
	.call = call_bo_hbm,
	.undo = undo_bo,
};

FIXTURE_VARIANT_ADD(faultinject, bo_host) {
	.call = call_bo_host,
	.undo = undo_bo,
};

FIXTURE_VARIANT_ADD(faultinject, bo_user) {
	.call = call_bo_user,
	.undo = undo_bo,
};

FIXTURE_VARIANT_ADD(faultinject, bo_info) {
	.call = call_bo_info,
	.must = true,
};

FIXTURE_VARIANT_ADD(faultinject, gem_close) {
	.before = call_bo_host,
	.call = call_gem_close,
	.must = true,
};

FIXTURE_VARIANT_ADD(faultinject, mmap) {
	.call = call_mmap,
	.undo = undo_mmap,
};

FIXTURE_VARIANT_ADD(faultinject, queue_create) {
	.call = call_queue_create,
	.undo = call_queue_destroy,
};

FIXTURE_VARIANT_ADD(faultinject, queue_destroy) {
	.before = call_queue_create,
	.call = call_queue_destroy,
	.must = true,
};

FIXTURE_VARIANT_ADD(faultinject, copy) {
	.call = call_copy,
	.must = true,
};

FIXTURE_VARIANT_ADD(faultinject, copy_all) {
	.call = call_copy_all,
};

FIXTURE_VARIANT_ADD(faultinject, fill) {
	.before = call_queue_create,
	.call = call_fill,
	.undo = call_queue_destroy,
	.drop = call_queue_destroy,
};

FIXTURE_VARIANT_ADD(faultinject, many_buffers) {
	.call = call_many_buffers,
};

FIXTURE_VARIANT_ADD(faultinject, synced) {
	.call = submit_synced,
	.undo = undo_synced,
};

FIXTURE_VARIANT_ADD(faultinject, strided) {
	.call = call_strided,
};

FIXTURE_VARIANT_ADD(faultinject, shared) {
	.before = share_in_use,
	.call = call_shared,
	.undo = undo_shared,
	.drop = undo_shared,
};

FIXTURE_VARIANT_ADD(faultinject, list_create) {
	.call = call_list_create,
	.undo = call_queue_destroy,
};

FIXTURE_VARIANT_ADD(faultinject, list_submit) {
	.before = call_list_create,
	.call = call_list_submit,
	.undo = undo_list_submit,
	.drop = call_queue_destroy,
};

FIXTURE_VARIANT_ADD(faultinject, export) {
	.call = call_export,
	.undo = undo_fd,
};

FIXTURE_VARIANT_ADD(faultinject, import) {
	.before = make_udmabuf,
	.call = call_import,
	.undo = undo_import,
	.drop = drop_udmabuf,
};

FIXTURE_VARIANT_ADD(faultinject, events) {
	.call = call_events,
	.undo = undo_fd,
};

FIXTURE_VARIANT_ADD(faultinject, reset_core) {
	.call = call_reset_core,
	.must = true,
};

FIXTURE_VARIANT_ADD(faultinject, reset_device) {
	.call = call_reset_device,
	.must = true,
};

static __u64 submitted(struct state *s)
{
	struct drm_trainium_query_queue q = {};

	trn_queue(s->fd, s->queue, &q);
	return q.submitted;
}

/* Each allocation fails once. */
TEST_F_TIMEOUT(faultinject, no_memory, 120)
{
	struct state *s = &self->s;
	unsigned int n, failed = 0;
	bool fired = true;

	ASSERT_EQ(0, choose(ALLOCATIONS, 0, ULONG_MAX));
	ASSERT_EQ(0, begin(s));
	for (n = 1; fired && n < MAX_NTH; n++) {
		__u64 jobs = submitted(s);
		int ret;

		if (variant->before)
			ASSERT_EQ(0, variant->before(s));
		ASSERT_EQ(0, arm(n));
		ret = variant->call(s);
		fired = disarm();
		failed += !!ret;
		if (!fired || variant->must)
			EXPECT_EQ(0, ret) TH_LOG("allocation %u", n);
		if (ret) {
			EXPECT_EQ(-ENOMEM, ret) TH_LOG("allocation %u", n);
			/* It has done nothing, or all of it. */
			EXPECT_EQ(jobs, submitted(s));
			if (variant->drop)
				ASSERT_EQ(0, variant->drop(s));
		} else if (variant->undo) {
			ASSERT_EQ(0, variant->undo(s)) TH_LOG("allocation %u", n);
		}
		EXPECT_EQ(NULL, trn_settle(s->fd, &s->before, 2 * TRN_SEC)) {
			TH_LOG("allocation %u: %s", n, trn_settle(s->fd, &s->before, 0));
		}
		EXPECT_EQ(s->memory, file_memory(s->fd)) TH_LOG("allocation %u", n);
		ASSERT_EQ(0, _metadata->exit_code);
	}
	EXPECT_FALSE(fired);
	TH_LOG("%u allocations failed, %u calls with them", n - 2, failed);
	close(s->fd);
}

/* Each copy from or to the caller fails once: what it left behind goes with the file. */
TEST_F_TIMEOUT(faultinject, no_user_memory, 120)
{
	struct state *s = &self->s;
	bool fired = true;
	unsigned int n;

	ASSERT_EQ(0, choose(USER_COPIES, 0, ULONG_MAX));
	for (n = 1; fired && n < MAX_NTH; n++) {
		int ret;

		ASSERT_EQ(0, begin(s));
		if (variant->before)
			ASSERT_EQ(0, variant->before(s));
		ASSERT_EQ(0, arm(n));
		ret = variant->call(s);
		fired = disarm();
		if (!fired)
			EXPECT_EQ(0, ret) TH_LOG("copy %u", n);
		if (ret)
			EXPECT_EQ(-EFAULT, ret) TH_LOG("copy %u", n);
		if (ret && variant->drop)
			variant->drop(s);
		if (!ret && variant->undo)
			ASSERT_EQ(0, variant->undo(s)) TH_LOG("copy %u", n);
		if (ret && variant->call == call_close)
			close(s->made_fd);
		close(s->fd);
		ASSERT_EQ(0, open_node(s, &s->fd));
		EXPECT_EQ(NULL, trn_settle(s->fd, &self->base, 2 * TRN_SEC)) {
			TH_LOG("copy %u: %s", n, trn_settle(s->fd, &self->base, 0));
		}
		close(s->fd);
		ASSERT_EQ(0, _metadata->exit_code);
	}
	EXPECT_FALSE(fired);
}

static int driver(const char *file, const char *bdf)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "/sys/bus/pci/drivers/trainium/%s", file);
	return trn_write_file(path, bdf);
}

FIXTURE(probe) {
	char bdf[32];
	int log;
};

FIXTURE_SETUP(probe)
{
	nth = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	if (nth < 0 || access(DEBUGFS "failslab", F_OK))
		SKIP(return, "the kernel injects no faults (CONFIG_FAULT_INJECTION)");
	ASSERT_NE(NULL, trn_bdf(0));
	snprintf(self->bdf, sizeof(self->bdf), "%s", trn_bdf(0));
	self->log = trn_log_open();
}

/* The device is there and works. */
FIXTURE_TEARDOWN(probe)
{
	char line[1024];
	__u32 queue, bo;
	int fd;

	arm(0);
	choose(ALLOCATIONS, 0, ULONG_MAX);
	fd = trn_open_bdf(self->bdf);
	if (fd < 0) {
		EXPECT_EQ(0, driver("bind", self->bdf));
		fd = trn_open_bdf(self->bdf);
	}
	ASSERT_LE(0, fd);
	EXPECT_EQ(0, trn_queue_create(fd, TRAINIUM_STACK_ANY, 0, &queue));
	EXPECT_EQ(0, trn_bo_create(fd, TRAINIUM_BO_HBM, 0, SIZE, &bo));
	EXPECT_EQ(0, trn_fill(fd, queue, bo, 0, SIZE, 0x77, 1));
	close(fd);
	EXPECT_FALSE(trn_log_fault(self->log, line, sizeof(line))) TH_LOG("%s", line);
	close(self->log);
	close(nth);
}

/*
 * Binding by hand, and unbinding, with allocations below the driver's code that
 * fail: some of the hundreds, chosen by chance, or all with TRAINIUM_TEST_LONG.
 */
TEST_F_TIMEOUT(probe, no_memory, 180)
{
	unsigned int n, stride = getenv("TRAINIUM_TEST_LONG") ? 1 : 40, tried = 0, failed = 0;
	__u64 seed = trn_now(), first = seed, from, to;
	bool fired = true;
	int ret;

	ASSERT_EQ(0, module_text(&from, &to));
	ASSERT_EQ(0, choose(ALLOCATIONS, from, to));
	ASSERT_EQ(0, driver("unbind", self->bdf));
	for (n = 1; fired && n < MAX_NTH; n += 1 + trn_rand_below(&seed, 2 * stride - 1), tried++) {
		ASSERT_EQ(0, arm(n));
		ret = driver("bind", self->bdf);
		fired = disarm();
		failed += !!ret;
		/* Without all interrupt vectors it works, too. */
		if (ret)
			EXPECT_EQ(-ENOMEM, ret) TH_LOG("seed %llu, allocation %u", first, n);
		if (!fired)
			EXPECT_EQ(0, ret);
		if (ret) {
			EXPECT_EQ(-1, trn_minor_of(self->bdf));
			continue;
		}
		ASSERT_EQ(0, arm(1 + trn_rand_below(&seed, 20)));
		ret = driver("unbind", self->bdf);
		disarm();
		ASSERT_EQ(0, ret);
	}
	EXPECT_FALSE(fired);
	EXPECT_LT(0, failed);
	TH_LOG("%u binds, %u failed, the last without a fault at %u", tried, failed, n);
}

TEST_HARNESS_MAIN
