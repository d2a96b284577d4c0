// SPDX-License-Identifier: GPL-2.0-only
/* TRAINIUM_QUERY: every type, sizes, bad arguments */
#include <fcntl.h>
#include <sched.h>

#include "kselftest_harness.h"
#include "trainium_util.h"

#define GUARD 0xa5

static const struct {
	const char *name;
	__u32 type;
	__u32 size;
} types[] = {
	{ "device", TRAINIUM_QUERY_DEVICE, sizeof(struct drm_trainium_query_device) },
	{ "memory", TRAINIUM_QUERY_MEMORY, sizeof(struct drm_trainium_query_memory) },
	{ "engine", TRAINIUM_QUERY_ENGINE, sizeof(struct drm_trainium_query_engine) },
	{ "queue", TRAINIUM_QUERY_QUEUE, sizeof(struct drm_trainium_query_queue) },
	{ "limits", TRAINIUM_QUERY_LIMITS, sizeof(struct drm_trainium_query_limits) },
	{ "telemetry", TRAINIUM_QUERY_TELEMETRY,
	  sizeof(struct drm_trainium_query_telemetry) },
};

FIXTURE(query) {
	int fd;
	__u32 queue;
	struct drm_trainium_query_device device;
};

FIXTURE_SETUP(query)
{
	self->fd = trn_open(0);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, trn_queue_create(self->fd, TRAINIUM_STACK_ANY, 0, &self->queue));
	ASSERT_EQ(0, trn_device(self->fd, &self->device));
}

FIXTURE_TEARDOWN(query)
{
	close(self->fd);
}

static __u32 index_of(struct _test_data_query *self, __u32 type)
{
	return type == TRAINIUM_QUERY_QUEUE ? self->queue : 0;
}

TEST_F(query, device)
{
	struct drm_trainium_query_device *d = &self->device;
	const struct trn_generation *g;
	char text[64];
	__u64 sum = 0;
	unsigned int i;

	EXPECT_EQ(TRAINIUM_UAPI_MAJOR, d->uapi_major);
	EXPECT_LE(TRAINIUM_UAPI_MINOR, d->uapi_minor);
	g = trn_generation(d->generation);
	ASSERT_NE(NULL, g);
	EXPECT_EQ('\0', d->name[sizeof(d->name) - 1]);
	EXPECT_STREQ(g->name, d->name);
	EXPECT_EQ(g->cores, d->num_cores);
	EXPECT_EQ(g->stacks, d->num_stacks);
	EXPECT_EQ(g->engines, d->num_engines);
	EXPECT_EQ(16, d->queues_per_engine);
	EXPECT_LT(0, d->fw_api_version);
	EXPECT_EQ(0, d->pad);

	for (i = 0; i < d->num_stacks; i++) {
		struct drm_trainium_query_memory memory;

		ASSERT_EQ(0, trn_memory(self->fd, i, &memory));
		sum += memory.size;
	}
	EXPECT_EQ(sum, d->hbm_size);

	snprintf(text, sizeof(text), "%04x:%02x:%02x.%x", d->pci_domain, d->pci_bus,
		 d->pci_slot, d->pci_function);
	EXPECT_STREQ(trn_bdf(0), text);

	ASSERT_LT(0, trn_read_sysfs(trn_bdf(0), "revision", text, sizeof(text)));
	EXPECT_EQ(strtoul(text, NULL, 16), d->pci_revision);
}

TEST_F(query, features)
{
	struct drm_trainium_query_device *d = &self->device;

	EXPECT_NE(0, d->features & TRAINIUM_FEATURE_QUEUE_FENCED);
	/* An interrupt feature without vectors, or the reverse, is a lie. */
	EXPECT_EQ(!!(d->features & TRAINIUM_FEATURE_IRQ), d->num_vectors != 0);
	/* No bit that this version of the interface does not know */
	if (d->uapi_minor == TRAINIUM_UAPI_MINOR)
		EXPECT_EQ(0, d->features & ~((TRAINIUM_FEATURE_SEMAPHORE << 1) - 1));
}

TEST_F(query, serials_differ)
{
	struct drm_trainium_query_device other;
	int fd;

	if (trn_num_devices() < 2)
		SKIP(return, "one device only");
	fd = trn_open(1);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, trn_device(fd, &other));
	EXPECT_NE(self->device.serial, other.serial);
	EXPECT_NE(self->device.routing_id, other.routing_id);
	EXPECT_NE(self->device.device_index, other.device_index);
	EXPECT_NE(0, memcmp(&self->device.pci_domain, &other.pci_domain,
			    offsetof(struct drm_trainium_query_device, pci_revision) -
			    offsetof(struct drm_trainium_query_device, pci_domain)));
	close(fd);
}

TEST_F(query, memory)
{
	unsigned int i;

	for (i = 0; i < self->device.num_stacks; i++) {
		struct drm_trainium_query_memory m;

		ASSERT_EQ(0, trn_memory(self->fd, i, &m));
		EXPECT_LT(0, m.size);
		EXPECT_EQ(0, m.size % TRN_PAGE);
		EXPECT_LE(m.free, m.size);
		EXPECT_LE(m.largest_free, m.free);
		EXPECT_LE(m.cpu_visible, m.size);
		EXPECT_EQ(0, m.bo_count);
		EXPECT_EQ(0, m.pad);
	}
}

TEST_F(query, engine)
{
	struct drm_trainium_query_device *d = &self->device;
	unsigned int i, host = 0, reach = 0, per_core[8] = {}, per_stack[TRN_MAX_STACKS] = {};
	unsigned int data = 16 * d->num_cores;

	for (i = 0; i < d->num_engines; i++) {
		struct drm_trainium_query_engine e;

		ASSERT_EQ(0, trn_engine(self->fd, i, &e));
		ASSERT_LT(e.stack, d->num_stacks);
		EXPECT_GE(d->queues_per_engine, e.rings_free);
		EXPECT_EQ(0, e.flags & ~(TRAINIUM_ENGINE_HOST_ACCESS |
					 TRAINIUM_ENGINE_ABORTED |
					 TRAINIUM_ENGINE_OUT_OF_SERVICE));
		EXPECT_EQ(0, e.flags & (TRAINIUM_ENGINE_ABORTED |
					TRAINIUM_ENGINE_OUT_OF_SERVICE));
		if (e.core == ~0u) {
			host++;
			EXPECT_NE(0, e.flags & TRAINIUM_ENGINE_HOST_ACCESS);
		} else {
			ASSERT_GT(d->num_cores, e.core);
			per_core[e.core]++;
			per_stack[e.stack]++;
			reach += !!(e.flags & TRAINIUM_ENGINE_HOST_ACCESS);
		}
	}
	EXPECT_EQ(d->num_engines - data, host);
	/* Half of the data engines reach the host; of Trainium1, all do. */
	EXPECT_EQ(d->generation == 1 ? data : data / 2, reach);
	for (i = 0; i < d->num_cores; i++)
		EXPECT_EQ(16, per_core[i]);
	for (i = 0; i < d->num_stacks; i++)
		EXPECT_EQ(data / d->num_stacks, per_stack[i]);
}

TEST_F(query, engine_bytes_count)
{
	struct drm_trainium_query_engine e;
	__u64 before = 0, after = 0;
	unsigned int i;
	__u32 bo;

	ASSERT_EQ(0, trn_bo_create(self->fd, TRAINIUM_BO_HBM, 0, TRN_MIB(1), &bo));
	for (i = 0; i < self->device.num_engines; i++) {
		ASSERT_EQ(0, trn_engine(self->fd, i, &e));
		before += e.bytes;
	}
	ASSERT_EQ(0, trn_copy(self->fd, self->queue, bo, TRN_KIB(512), bo, 0, TRN_KIB(512)));
	for (i = 0; i < self->device.num_engines; i++) {
		ASSERT_EQ(0, trn_engine(self->fd, i, &e));
		after += e.bytes;
	}
	EXPECT_EQ(TRN_KIB(512), after - before);
}

TEST_F(query, queue)
{
	struct drm_trainium_query_queue q;
	__u32 bo;

	ASSERT_EQ(0, trn_queue(self->fd, self->queue, &q));
	EXPECT_EQ(TRAINIUM_QUEUE_FENCED, q.queue_class);
	EXPECT_LT(0, q.num_rings);
	EXPECT_EQ(0, q.submitted);
	EXPECT_EQ(0, q.completed);
	EXPECT_EQ(0, q.failed);
	EXPECT_EQ(0, q.error);
	EXPECT_EQ(TRAINIUM_REASON_NONE, q.reason);

	ASSERT_EQ(0, trn_bo_create(self->fd, TRAINIUM_BO_HBM, 0, TRN_PAGE, &bo));
	ASSERT_EQ(0, trn_fill(self->fd, self->queue, bo, 0, TRN_PAGE, 1, 1));
	ASSERT_EQ(0, trn_fill(self->fd, self->queue, bo, 0, TRN_PAGE, 2, 1));
	ASSERT_EQ(0, trn_queue(self->fd, self->queue, &q));
	EXPECT_EQ(2, q.submitted);
	EXPECT_EQ(2, q.completed);
	EXPECT_EQ(0, q.failed);
}

TEST_F(query, limits)
{
	struct drm_trainium_query_limits l;

	ASSERT_EQ(0, trn_limits(self->fd, &l));
	EXPECT_LT(0, l.max_queues);
	EXPECT_LE(l.max_queues, l.max_rings);
	/* The batch of the benchmark fits. */
	EXPECT_LE(1024, l.max_ops);
	EXPECT_LT(0, l.max_syncs);
	EXPECT_LT(0, l.max_bo_size);
	EXPECT_LE(l.max_bo_size, self->device.hbm_size);
	EXPECT_LE(TRN_GIB(1), l.max_job_bytes);
	EXPECT_LT(0, l.job_timeout_ns);
	EXPECT_LT(0, l.alignment);
	EXPECT_EQ(0, l.alignment & (l.alignment - 1));
	/* The driver sets none on memory unless it is told to. */
	EXPECT_EQ(0, l.max_hbm);
	EXPECT_EQ(0, l.max_pinned);
	EXPECT_LE(65536, l.max_buffers);
	EXPECT_LT(0, l.max_rows);
}

TEST_F(query, telemetry)
{
	struct drm_trainium_query_telemetry t;
	__s64 end = trn_now() + trn_limit(5 * TRN_SEC);
	__u32 heartbeat;
	unsigned int i;

	ASSERT_EQ(0, trn_query(self->fd, TRAINIUM_QUERY_TELEMETRY, 0, &t, sizeof(t)));
	EXPECT_EQ(0, t.health);
	EXPECT_GE(2, t.hbm_repair_state);
	EXPECT_EQ(0, t.pad);
	for (i = 0; i < 4; i++)
		EXPECT_GE(10000, t.power_util[i]);
	/* Stacks and dies that are not there report nothing. */
	for (i = self->device.num_stacks; i < 8; i++) {
		EXPECT_EQ(0, t.hbm_ecc_corrected[i]);
		EXPECT_EQ(0, t.hbm_ecc_uncorrected[i]);
	}
	EXPECT_EQ(0, t.power_util[2]);
	EXPECT_EQ(0, t.power_util[3]);

	heartbeat = t.heartbeat;
	do {
		trn_sleep(20 * TRN_MSEC);
		ASSERT_EQ(0, trn_query(self->fd, TRAINIUM_QUERY_TELEMETRY, 0, &t, sizeof(t)));
	} while (t.heartbeat == heartbeat && trn_now() < end);
	EXPECT_NE(heartbeat, t.heartbeat);
}

TEST_F(query, size_only)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		struct drm_trainium_query query = {
			.type = types[i].type,
			.index = index_of(self, types[i].type),
		};

		ASSERT_EQ(0, trn_ioctl(self->fd, DRM_IOCTL_TRAINIUM_QUERY, &query));
		EXPECT_LE(types[i].size, query.size) TH_LOG("%s", types[i].name);
		EXPECT_EQ(0, query.size % 8) TH_LOG("%s", types[i].name);

		/* What the caller says about the size does not matter then. */
		query.size = 1;
		ASSERT_EQ(0, trn_ioctl(self->fd, DRM_IOCTL_TRAINIUM_QUERY, &query));
		EXPECT_LE(types[i].size, query.size) TH_LOG("%s", types[i].name);
	}
}

/* A smaller struct of an older program: its bytes and not one more */
TEST_F(query, truncated)
{
	__u8 full[512], part[512];
	unsigned int i;
	__u32 size;

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		__u32 index = index_of(self, types[i].type);

		memset(full, 0, sizeof(full));
		ASSERT_EQ(0, trn_query(self->fd, types[i].type, index, full, types[i].size));
		for (size = 0; size < types[i].size; size += 4) {
			struct drm_trainium_query query = {
				.type = types[i].type,
				.index = index,
				.size = size,
				.data = trn_ptr(part),
			};

			memset(part, GUARD, sizeof(part));
			ASSERT_EQ(0, trn_ioctl(self->fd, DRM_IOCTL_TRAINIUM_QUERY, &query));
			EXPECT_LE(types[i].size, query.size);
			EXPECT_EQ(-1, trn_check_byte(part + size, sizeof(part) - size, GUARD));
			/* Telemetry moves by itself. */
			if (types[i].type == TRAINIUM_QUERY_TELEMETRY)
				continue;
			EXPECT_EQ(0, memcmp(full, part, size)) {
				TH_LOG("%s cut to %u bytes", types[i].name, size);
			}
		}
	}
}

/* A larger struct of a newer program: the tail is zero */
TEST_F(query, extended)
{
	__u8 buf[1024];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		struct drm_trainium_query query = {
			.type = types[i].type,
			.index = index_of(self, types[i].type),
			.size = types[i].size + 301,
			.data = trn_ptr(buf),
		};

		memset(buf, GUARD, sizeof(buf));
		ASSERT_EQ(0, trn_ioctl(self->fd, DRM_IOCTL_TRAINIUM_QUERY, &query));
		ASSERT_LE(types[i].size, query.size);
		EXPECT_EQ(-1, trn_check_byte(buf + query.size,
					     types[i].size + 301 - query.size, 0));
		EXPECT_EQ(-1, trn_check_byte(buf + types[i].size + 301,
					     sizeof(buf) - types[i].size - 301, GUARD));
	}
}

TEST_F(query, unaligned_result)
{
	__u8 buf[512];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		memset(buf, GUARD, sizeof(buf));
		EXPECT_EQ(0, trn_query(self->fd, types[i].type,
				       index_of(self, types[i].type), buf + 3,
				       types[i].size));
		EXPECT_EQ(-1, trn_check_byte(buf, 3, GUARD));
		EXPECT_EQ(GUARD, buf[3 + types[i].size]);
	}
}

TEST_F(query, bad_arguments)
{
	struct drm_trainium_query_device *d = &self->device;
	struct drm_trainium_query query;
	static const __u32 wrong[] = { 9, 10, 0xff, 0x80000000, 0xffffffff };
	__u8 buf[512];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(wrong); i++)
		EXPECT_EQ(-EINVAL, trn_query(self->fd, wrong[i], 0, buf, sizeof(buf)));

	/* The index has to be zero where there is only one ... */
	EXPECT_EQ(-EINVAL, trn_query(self->fd, TRAINIUM_QUERY_DEVICE, 1, buf, sizeof(buf)));
	EXPECT_EQ(-EINVAL, trn_query(self->fd, TRAINIUM_QUERY_LIMITS, 1, buf, sizeof(buf)));
	EXPECT_EQ(-EINVAL, trn_query(self->fd, TRAINIUM_QUERY_TELEMETRY, 1, buf, sizeof(buf)));
	/* ... and in range where there are several. */
	EXPECT_EQ(-EINVAL, trn_memory(self->fd, d->num_stacks, (void *)buf));
	EXPECT_EQ(-EINVAL, trn_memory(self->fd, ~0u, (void *)buf));
	EXPECT_EQ(-EINVAL, trn_engine(self->fd, d->num_engines, (void *)buf));
	EXPECT_EQ(-EINVAL, trn_engine(self->fd, ~0u, (void *)buf));
	EXPECT_EQ(-EINVAL, trn_engine(self->fd, 0x80000000, (void *)buf));
	EXPECT_EQ(-ENOENT, trn_queue(self->fd, 0, (void *)buf));
	EXPECT_EQ(-ENOENT, trn_queue(self->fd, self->queue + 1, (void *)buf));
	EXPECT_EQ(-ENOENT, trn_queue(self->fd, ~0u, (void *)buf));

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		query = (struct drm_trainium_query){
			.type = types[i].type,
			.index = index_of(self, types[i].type),
			.size = sizeof(buf),
			.pad = 1,
			.data = trn_ptr(buf),
		};
		EXPECT_EQ(-EINVAL, trn_ioctl(self->fd, DRM_IOCTL_TRAINIUM_QUERY, &query)) {
			TH_LOG("%s took a non-zero pad", types[i].name);
		}
	}
}

TEST_F(query, bad_pointers)
{
	void *ro, *gap;
	unsigned int i;

	ro = mmap(NULL, TRN_PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, ro);
	gap = mmap(NULL, 2 * TRN_PAGE, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, gap);
	ASSERT_EQ(0, munmap(gap + TRN_PAGE, TRN_PAGE));

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		__u32 index = index_of(self, types[i].type);
		const __u64 bad[] = {
			8, trn_ptr(ro), trn_ptr(gap) + TRN_PAGE - 8,
			0x8000000000000000ull, 0xffff888000000000ull,
			0xffffffff81000000ull, 0xfffffffffffffff8ull,
			0x00007ffffffff000ull - 8,
		};
		unsigned int j;

		for (j = 0; j < ARRAY_SIZE(bad); j++) {
			EXPECT_EQ(-EFAULT, trn_query(self->fd, types[i].type, index,
						     (void *)bad[j], types[i].size)) {
				TH_LOG("%s at %llx", types[i].name, bad[j]);
			}
		}
		/* A tail that leads out of the mapping, however long */
		EXPECT_EQ(-EFAULT, trn_query(self->fd, types[i].type, index, gap, 0xffffffff));
	}
	EXPECT_EQ(-EFAULT, trn_ioctl(self->fd, DRM_IOCTL_TRAINIUM_QUERY, NULL));
	EXPECT_EQ(-EFAULT, trn_ioctl(self->fd, DRM_IOCTL_TRAINIUM_QUERY, (void *)~0ul));
}

/* An argument without the last member, as a program before it would pass */
TEST_F(query, short_ioctl)
{
	struct {
		__u32 type, index, size, pad;
	} old = { .type = TRAINIUM_QUERY_DEVICE };

	ASSERT_EQ(0, trn_ioctl(self->fd,
			       DRM_IOWR(DRM_COMMAND_BASE + DRM_TRAINIUM_QUERY, old), &old));
	EXPECT_LE(sizeof(struct drm_trainium_query_device), old.size);
}

TEST_F(query, no_kernel_pointers)
{
	__u64 buf[64];
	unsigned int i, j;

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		memset(buf, 0, sizeof(buf));
		ASSERT_EQ(0, trn_query(self->fd, types[i].type,
				       index_of(self, types[i].type), buf, sizeof(buf)));
		for (j = 0; j < ARRAY_SIZE(buf); j++) {
			EXPECT_TRUE(buf[j] >> 47 != 0x1ffff || buf[j] == ~0ull) {
				TH_LOG("%s, word %u: %llx", types[i].name, j, buf[j]);
			}
		}
	}
}

static int query_all_as_user(void *arg)
{
	__u8 buf[512];
	unsigned int i;
	__u32 queue;
	int fd;

	if (trn_become_user())
		return 1;
	fd = open(arg, O_RDWR);
	if (fd < 0)
		return 2;
	if (trn_queue_create(fd, TRAINIUM_STACK_ANY, 0, &queue))
		return 3;
	for (i = 0; i < ARRAY_SIZE(types); i++)
		if (trn_query(fd, types[i].type,
			      types[i].type == TRAINIUM_QUERY_QUEUE ? queue : 0,
			      buf, sizeof(buf)))
			return 10 + i;
	return 0;
}

TEST_F(query, as_user)
{
	char path[64];

	ASSERT_EQ(0, trn_user_node(0, path, sizeof(path)));
	EXPECT_EQ(0, trn_in_child(query_all_as_user, path));
	unlink(path);
}

/* 64 processes at once */
TEST_F(query, crowd)
{
	pid_t pid[64];
	unsigned int i, j;

	for (i = 0; i < ARRAY_SIZE(pid); i++) {
		pid[i] = trn_fork();
		ASSERT_LE(0, pid[i]);
		if (!pid[i]) {
			int fd = trn_open(0);
			struct drm_trainium_query_device d;
			struct drm_trainium_query_telemetry t;

			if (fd < 0)
				_exit(1);
			for (j = 0; j < 20; j++) {
				if (trn_device(fd, &d) ||
				    memcmp(&d, &self->device, sizeof(d)))
					_exit(2);
				if (trn_query(fd, TRAINIUM_QUERY_TELEMETRY, 0, &t, sizeof(t)))
					_exit(3);
			}
			_exit(0);
		}
	}
	for (i = 0; i < ARRAY_SIZE(pid); i++)
		EXPECT_EQ(0, trn_reap(pid[i], TRN_PATIENCE));
}

TEST_HARNESS_MAIN
