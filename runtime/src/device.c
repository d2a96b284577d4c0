// SPDX-License-Identifier: MIT
/*
 * Opening a device and asking it.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "internal.h"

_Static_assert(NEURON_FEATURE_IRQ == TRAINIUM_FEATURE_IRQ, "feature bits");
_Static_assert(NEURON_FEATURE_HBM_MAP == TRAINIUM_FEATURE_HBM_MMAP, "feature bits");
_Static_assert(NEURON_FEATURE_USERPTR == TRAINIUM_FEATURE_USERPTR, "feature bits");
_Static_assert(NEURON_FEATURE_QUEUE_FENCED == TRAINIUM_FEATURE_QUEUE_FENCED, "feature bits");
_Static_assert(NEURON_FEATURE_QUEUE_USER == TRAINIUM_FEATURE_QUEUE_USER, "feature bits");
_Static_assert(NEURON_FEATURE_SEMAPHORE == TRAINIUM_FEATURE_SEMAPHORE, "feature bits");
_Static_assert(NEURON_FEATURE_FABRIC == TRAINIUM_FEATURE_FABRIC, "feature bits");
_Static_assert(NEURON_FEATURE_MODEL_CLOCK == TRAINIUM_FEATURE_MODEL_CLOCK, "feature bits");
_Static_assert(NEURON_FEATURE_TIMESTAMP == TRAINIUM_FEATURE_TIMESTAMP, "feature bits");
_Static_assert(NEURON_FEATURE_EVENTS == TRAINIUM_FEATURE_EVENTS, "feature bits");
_Static_assert(NEURON_FEATURE_P2P == TRAINIUM_FEATURE_P2P, "feature bits");
_Static_assert(NEURON_STACK_ANY == TRAINIUM_STACK_ANY, "any stack");

/* Sizes of the structures in their first version: up to what was then the last member. */
#define ENTRY_MIN	NRN_SIZE_UPTO(struct neuron_device_entry, node)
#define INFO_MIN	NRN_SIZE_UPTO(struct neuron_device_info, numa_node)
#define MEMORY_MIN	NRN_SIZE_UPTO(struct neuron_memory_info, cpu_visible)
#define LIMITS_MIN	NRN_SIZE_UPTO(struct neuron_limits, job_timeout_ns)
#define ENGINE_MIN	NRN_SIZE_UPTO(struct neuron_engine_info, resets)
#define TELEMETRY_MIN	NRN_SIZE_UPTO(struct neuron_telemetry, power_util)

/* Why there is no device at all; @listed: sysfs shows some without a node. */
static void nothing_found(int listed)
{
	if (listed)
		nrn_fail(0, "no device: %d in %s/class/accel, but none has its node in %s", listed,
			 nrn_backend->sys_dir, nrn_backend->dev_dir);
	else if (nrn_module_loaded())
		nrn_fail(0, "no device: the kernel module %s is loaded, but has found none",
			 DRIVER_NAME);
	else
		nrn_fail(0, "no device: the kernel module %s is not loaded", DRIVER_NAME);
}

int neuron_enumerate(struct neuron_device_entry *entries, size_t entry_size, uint32_t capacity)
{
	struct nrn_found *found;
	int count, i, used = 0;

	if (capacity && (!entries || entry_size < ENTRY_MIN || entry_size > 4096))
		return nrn_fail(-EINVAL, "%s: entries of %zu bytes, should be %zu", __func__,
				entry_size, sizeof(*entries));
	count = nrn_find_devices(&found);
	if (count < 0)
		return nrn_fail(count, "%s: out of memory", __func__);
	for (i = 0; i < count; i++) {
		struct neuron_device_entry entry = {
			.size = (uint32_t)entry_size,
			.index = (uint32_t)used,
			.accel = found[i].accel,
			.numa_node = found[i].numa_node,
		};
		void *slot;

		if (!found[i].has_node)
			continue;
		if ((uint32_t)used < capacity) {
			slot = (char *)entries + entry_size * (size_t)used;
			memcpy(entry.pci_address, found[i].pci_address, sizeof(entry.pci_address));
			memcpy(entry.node, found[i].node, sizeof(entry.node));
			memcpy(slot, &entry.size, sizeof(entry.size));
			nrn_copy_out(slot, &entry, sizeof(entry), ENTRY_MIN,
				     "neuron_device_entry");
		}
		used++;
	}
	free(found);
	if (!used)
		nothing_found(count);
	return used;
}

static int open_failed(int error, const char *node)
{
	struct stat st;

	if (error == -ENOENT)
		return nrn_fail(error, "%s does not exist", node);
	if ((error == -EACCES || error == -EPERM) && !stat(node, &st))
		return nrn_fail(-EACCES, "%s: permission denied (owner %u, group %u, mode %04o)",
				node, st.st_uid, st.st_gid, st.st_mode & 07777);
	if (error == -ENXIO)
		error = -ENODEV;
	return nrn_fail(error, "%s: cannot be opened: %s", node, strerror(-error));
}

/* Is this ours, in a version that we speak? */
static int check_driver(struct neuron_device *device, struct drm_trainium_query_device *info)
{
	int ret;

	ret = nrn_backend->version(device->fd, device->driver, sizeof(device->driver),
				   device->driver_version);
	if (ret)
		return nrn_fail(-ENODEV, "%s is no accel device: %s", device->node,
				strerror(-ret));
	if (strcmp(device->driver, DRIVER_NAME))
		return nrn_fail(-ENODEV, "%s is driven by %s, not by %s", device->node,
				device->driver, DRIVER_NAME);
	ret = nrn_device_query(device, TRAINIUM_QUERY_DEVICE, 0, info, sizeof(*info));
	if (ret)
		return nrn_device_fail(device, ret, "query of the device");
	if (info->uapi_major != TRAINIUM_UAPI_MAJOR)
		return nrn_fail(-EOPNOTSUPP,
				"%s: the driver speaks version %u.%u of its interface, libneuron %s speaks %u.x",
				device->label, info->uapi_major, info->uapi_minor,
				neuron_version_string(), TRAINIUM_UAPI_MAJOR);
	ret = nrn_device_query(device, TRAINIUM_QUERY_LIMITS, 0, &device->limits,
			       sizeof(device->limits));
	if (ret)
		return nrn_device_fail(device, ret, "query of the limits");
	return 0;
}

/* Takes over @fd. */
static int device_new(int fd, const char *node, struct neuron_device **out)
{
	struct drm_trainium_query_device info = { 0 };
	struct neuron_device *device;
	const char *base;
	int ret;

	device = calloc(1, sizeof(*device));
	if (!device) {
		nrn_backend->close(fd);
		return nrn_fail(-ENOMEM, "%s: out of memory", node);
	}
	atomic_init(&device->refs, 1);
	device->fd = fd;
	snprintf(device->node, sizeof(device->node), "%s", node);
	base = strrchr(node, '/');
	snprintf(device->label, sizeof(device->label), "%.*s", NEURON_NAME_SIZE - 1,
		 base ? base + 1 : node);
	if (!strncmp(device->label, "accel", 5))
		device->accel = (uint32_t)strtoul(device->label + 5, NULL, 10);
	pthread_mutex_init(&device->lock, NULL);

	ret = check_driver(device, &info);
	if (ret) {
		nrn_device_put(device);
		return ret;
	}
	device->num_stacks = info.num_stacks;
	device->features = info.features;
	snprintf(device->pci_address, sizeof(device->pci_address), "%04x:%02x:%02x.%x",
		 info.pci_domain, info.pci_bus, info.pci_slot, info.pci_function);
	*out = device;
	return 0;
}

static int open_node(const char *node, struct neuron_device **device)
{
	int fd = nrn_backend->open(node);

	if (fd < 0)
		return open_failed(fd, node);
	return device_new(fd, node, device);
}

int neuron_device_open(uint32_t index, struct neuron_device **device)
{
	struct nrn_found *found;
	uint32_t used = 0;
	int count, i, ret;

	if (!device)
		return nrn_fail(-EINVAL, "%s: no place for the device (NULL)", __func__);
	count = nrn_find_devices(&found);
	if (count < 0)
		return nrn_fail(count, "%s: out of memory", __func__);
	for (i = 0; i < count; i++) {
		if (!found[i].has_node)
			continue;
		if (used++ == index)
			break;
	}
	if (i < count) {
		ret = open_node(found[i].node, device);
	} else if (used) {
		ret = nrn_fail(-ENODEV, "device %u does not exist: there are %u, counted from 0",
			       index, used);
	} else {
		nothing_found(count);
		ret = count ? -ENOENT : -ENODEV;
	}
	free(found);
	return ret;
}

/* Domain, bus, device and function, in the two usual spellings. */
static bool parse_pci(const char *name, unsigned int pci[4])
{
	int end = 0;

	if (sscanf(name, "%4x:%2x:%2x.%1x%n", &pci[0], &pci[1], &pci[2], &pci[3], &end) == 4 &&
	    !name[end])
		return true;
	pci[0] = 0;
	end = 0;
	return sscanf(name, "%2x:%2x.%1x%n", &pci[1], &pci[2], &pci[3], &end) == 3 && !name[end];
}

static int open_pci(const char *name, const unsigned int pci[4], struct neuron_device **device)
{
	struct nrn_found *found;
	unsigned int other[4];
	int count, i, ret;

	count = nrn_find_devices(&found);
	if (count < 0)
		return nrn_fail(count, "%s: out of memory", name);
	for (i = 0; i < count; i++)
		if (parse_pci(found[i].pci_address, other) &&
		    !memcmp(other, pci, sizeof(other)))
			break;
	if (i < count)
		ret = open_node(found[i].node, device);
	else
		ret = nrn_fail(-ENODEV, "no device of the driver %s at PCI address %s",
			       DRIVER_NAME, name);
	free(found);
	return ret;
}

int neuron_device_open_name(const char *name, struct neuron_device **device)
{
	char node[NEURON_PATH_SIZE];
	unsigned int pci[4];
	unsigned long index;
	char *end;

	if (!name || !device)
		return nrn_fail(-EINVAL, "%s: %s (NULL)", __func__,
				name ? "no place for the device" : "no name");
	if (name[0] == '/')
		return open_node(name, device);
	if (parse_pci(name, pci))
		return open_pci(name, pci, device);
	if (isdigit((unsigned char)name[0])) {
		errno = 0;
		index = strtoul(name, &end, 10);
		if (!*end && !errno && index <= UINT32_MAX)
			return neuron_device_open((uint32_t)index, device);
	} else if (!strncmp(name, "accel", 5) && isdigit((unsigned char)name[5]) &&
		   snprintf(node, sizeof(node), "%s/%s", nrn_backend->dev_dir, name) <
			   (int)sizeof(node)) {
		return open_node(node, device);
	}
	return nrn_fail(-EINVAL,
			"\"%.80s\" is no device: an index, accelN, a path or a PCI address was expected",
			name);
}

int neuron_device_open_fd(int fd, struct neuron_device **device)
{
	char node[NEURON_PATH_SIZE];
	int copy, ret;

	if (!device)
		return nrn_fail(-EINVAL, "%s: no place for the device (NULL)", __func__);
	ret = nrn_backend->node(fd, node, sizeof(node));
	if (ret)
		return nrn_fail(ret, "descriptor %d is no device: %s", fd, strerror(-ret));
	copy = nrn_backend->dup(fd);
	if (copy < 0)
		return nrn_fail(copy, "descriptor %d: %s", fd, strerror(-copy));
	return device_new(copy, node, device);
}

struct neuron_device *nrn_device_get(struct neuron_device *device)
{
	atomic_fetch_add_explicit(&device->refs, 1, memory_order_relaxed);
	return device;
}

void nrn_device_put(struct neuron_device *device)
{
	unsigned int i;

	if (atomic_fetch_sub_explicit(&device->refs, 1, memory_order_acq_rel) != 1)
		return;
	for (i = 0; i < OWN_QUEUES; i++)
		if (device->own_queue[i])
			nrn_queue_free(device->own_queue[i]);
	nrn_staging_free_all(device);
	for (i = 0; i < device->syncobj_count; i++)
		nrn_backend->syncobj_destroy(device->fd, device->syncobj[i]);
	nrn_backend->close(device->fd);
	pthread_mutex_destroy(&device->lock);
	free(device->handle_refs);
	free(device);
}

void neuron_device_close(struct neuron_device *device)
{
	if (device)
		nrn_device_put(device);
}

int neuron_device_get_fd(const struct neuron_device *device)
{
	if (!device)
		return nrn_fail(-EINVAL, "%s: no device (NULL)", __func__);
	return device->fd;
}

int nrn_device_query(struct neuron_device *device, uint32_t type, uint32_t index, void *data,
		     uint32_t size)
{
	struct drm_trainium_query query = {
		.type = type,
		.index = index,
		.size = size,
		.data = (uintptr_t)data,
	};

	return nrn_backend->ioctl(device->fd, DRM_IOCTL_TRAINIUM_QUERY, &query);
}

int nrn_device_fail(struct neuron_device *device, int error, const char *what)
{
	if (error == -ENODEV)
		return nrn_fail(error, "%s: the device is gone (%s)", device->label, what);
	return nrn_fail(error, "%s: %s failed: %s (%s)", device->label, what,
			neuron_strerror(error), neuron_error_name(error));
}

int nrn_device_own_queue(struct neuron_device *device, enum nrn_own_queue which,
			 struct neuron_queue **queue)
{
	int ret = 0;

	pthread_mutex_lock(&device->lock);
	if (!device->own_queue[which])
		ret = nrn_queue_create(device, NULL, false, &device->own_queue[which]);
	*queue = device->own_queue[which];
	pthread_mutex_unlock(&device->lock);
	return ret;
}

int nrn_device_get_syncobj(struct neuron_device *device, uint32_t *handle)
{
	bool found = false;

	pthread_mutex_lock(&device->lock);
	if (device->syncobj_count) {
		*handle = device->syncobj[--device->syncobj_count];
		found = true;
	}
	pthread_mutex_unlock(&device->lock);
	return found ? 0 : nrn_backend->syncobj_create(device->fd, handle);
}

void nrn_device_put_syncobj(struct neuron_device *device, uint32_t handle, bool reuse)
{
	pthread_mutex_lock(&device->lock);
	if (reuse && device->syncobj_count < SYNCOBJ_KEEP)
		device->syncobj[device->syncobj_count++] = handle;
	else
		reuse = false;
	pthread_mutex_unlock(&device->lock);
	if (!reuse)
		nrn_backend->syncobj_destroy(device->fd, handle);
}

/* NUMA node from sysfs; the device may be gone from there. */
static int32_t numa_node(const struct neuron_device *device)
{
	struct nrn_found *found;
	int32_t node = -1;
	int count, i;

	count = nrn_find_devices(&found);
	for (i = 0; i < count; i++)
		if (found[i].accel == device->accel)
			node = found[i].numa_node;
	if (count >= 0)
		free(found);
	return node;
}

int neuron_device_get_info(struct neuron_device *device, struct neuron_device_info *info)
{
	struct drm_trainium_query_device q = { 0 };
	struct neuron_device_info full = { 0 };
	int ret;

	if (!device)
		return nrn_fail(-EINVAL, "%s: no device (NULL)", __func__);
	ret = nrn_device_query(device, TRAINIUM_QUERY_DEVICE, 0, &q, sizeof(q));
	if (ret)
		return nrn_device_fail(device, ret, "query of the device");
	full.generation = q.generation;
	full.features = q.features;
	snprintf(full.name, sizeof(full.name), "%.*s", (int)sizeof(q.name), q.name);
	memcpy(full.node, device->node, sizeof(full.node));
	memcpy(full.pci_address, device->pci_address, sizeof(full.pci_address));
	memcpy(full.driver, device->driver, sizeof(full.driver));
	memcpy(full.driver_version, device->driver_version, sizeof(full.driver_version));
	full.accel = device->accel;
	full.uapi_major = q.uapi_major;
	full.uapi_minor = q.uapi_minor;
	full.serial = q.serial;
	full.routing_id = q.routing_id;
	full.device_index = q.device_index;
	full.firmware_api = q.fw_api_version;
	full.firmware_build = q.fw_build;
	full.num_cores = q.num_cores;
	full.num_stacks = q.num_stacks;
	full.num_engines = q.num_engines;
	full.queues_per_engine = q.queues_per_engine;
	full.hbm_size = q.hbm_size;
	full.reset_count = q.reset_count;
	full.num_vectors = q.num_vectors;
	full.numa_node = numa_node(device);
	full.event_types = q.event_types;
	full.pci_revision = q.pci_revision;
	return nrn_copy_out(info, &full, sizeof(full), INFO_MIN, "neuron_device_info");
}

static int query_stack(struct neuron_device *device, uint32_t stack,
		       struct drm_trainium_query_memory *memory)
{
	int ret;

	memset(memory, 0, sizeof(*memory));
	ret = nrn_device_query(device, TRAINIUM_QUERY_MEMORY, stack, memory, sizeof(*memory));
	return ret ? nrn_device_fail(device, ret, "query of the memory") : 0;
}

int neuron_device_get_memory(struct neuron_device *device, uint32_t stack,
			     struct neuron_memory_info *info)
{
	uint32_t first = stack, last = stack, i;
	struct drm_trainium_query_memory memory;
	struct neuron_memory_info full = { 0 };
	int ret;

	if (!device)
		return nrn_fail(-EINVAL, "%s: no device (NULL)", __func__);
	if (stack == NEURON_STACK_ANY) {
		first = 0;
		last = device->num_stacks - 1;
	} else if (stack >= device->num_stacks) {
		return nrn_fail(-EINVAL, "%s: HBM stack %u does not exist: there are %u",
				device->label, stack, device->num_stacks);
	}
	for (i = first; i <= last; i++) {
		ret = query_stack(device, i, &memory);
		if (ret)
			return ret;
		full.buffers += memory.bo_count;
		full.total += memory.size;
		full.free += memory.free;
		full.cpu_visible += memory.cpu_visible;
		full.cpu_visible_free += memory.cpu_visible_free;
		if (memory.largest_free > full.largest_free)
			full.largest_free = memory.largest_free;
	}
	return nrn_copy_out(info, &full, sizeof(full), MEMORY_MIN, "neuron_memory_info");
}

int neuron_device_get_limits(struct neuron_device *device, struct neuron_limits *limits)
{
	const struct drm_trainium_query_limits *l;
	struct neuron_limits full = { 0 };

	if (!device)
		return nrn_fail(-EINVAL, "%s: no device (NULL)", __func__);
	l = &device->limits;
	full.max_queues = l->max_queues;
	full.max_rings = l->max_rings;
	full.max_ops = l->max_ops;
	full.max_waits = l->max_syncs;
	full.alignment = l->alignment;
	full.max_buffer_size = l->max_bo_size;
	full.max_job_bytes = l->max_job_bytes;
	full.job_timeout_ns = l->job_timeout_ns;
	full.max_rows = l->max_rows;
	full.max_list_descs = l->max_list_descs;
	full.max_list_patterns = l->max_list_patterns;
	full.max_hbm = l->max_hbm;
	full.max_pinned = l->max_pinned;
	full.max_buffers = l->max_buffers;
	return nrn_copy_out(limits, &full, sizeof(full), LIMITS_MIN, "neuron_limits");
}

int neuron_device_get_engine(struct neuron_device *device, uint32_t engine,
			     struct neuron_engine_info *info)
{
	struct drm_trainium_query_engine q = { 0 };
	struct neuron_engine_info full = { 0 };
	int ret;

	if (!device)
		return nrn_fail(-EINVAL, "%s: no device (NULL)", __func__);
	ret = nrn_device_query(device, TRAINIUM_QUERY_ENGINE, engine, &q, sizeof(q));
	if (ret == -EINVAL)
		return nrn_fail(ret, "%s: engine %u does not exist", device->label, engine);
	if (ret)
		return nrn_device_fail(device, ret, "query of an engine");
	full.stack = q.stack;
	full.core = (int32_t)q.core;
	full.host_access = !!(q.flags & TRAINIUM_ENGINE_HOST_ACCESS);
	full.aborted = !!(q.flags & TRAINIUM_ENGINE_ABORTED);
	full.out_of_service = !!(q.flags & TRAINIUM_ENGINE_OUT_OF_SERVICE);
	full.rings_free = q.rings_free;
	full.bytes = q.bytes;
	full.resets = q.resets;
	full.busy_ns = q.busy_ns;
	return nrn_copy_out(info, &full, sizeof(full), ENGINE_MIN, "neuron_engine_info");
}

int neuron_device_get_telemetry(struct neuron_device *device, struct neuron_telemetry *telemetry)
{
	struct drm_trainium_query_telemetry q = { 0 };
	struct neuron_telemetry full = { 0 };
	int ret;

	_Static_assert(sizeof(q.hbm_ecc_corrected) == sizeof(full.hbm_ecc_corrected), "stacks");
	_Static_assert(sizeof(q.power_util) == sizeof(full.power_util), "dies");
	if (!device)
		return nrn_fail(-EINVAL, "%s: no device (NULL)", __func__);
	ret = nrn_device_query(device, TRAINIUM_QUERY_TELEMETRY, 0, &q, sizeof(q));
	if (ret)
		return nrn_device_fail(device, ret, "query of the telemetry");
	full.sram_ecc_corrected = q.sram_ecc_corrected;
	full.sram_ecc_uncorrected = q.sram_ecc_uncorrected;
	memcpy(full.hbm_ecc_corrected, q.hbm_ecc_corrected, sizeof(full.hbm_ecc_corrected));
	memcpy(full.hbm_ecc_uncorrected, q.hbm_ecc_uncorrected, sizeof(full.hbm_ecc_uncorrected));
	full.hbm_repair_state = q.hbm_repair_state;
	full.health = q.health;
	full.heartbeat = q.heartbeat;
	memcpy(full.power_util, q.power_util, sizeof(full.power_util));
	memcpy(full.hbm_ecc_repairable, q.hbm_ecc_repairable, sizeof(full.hbm_ecc_repairable));
	full.sensors = !!(q.valid & TRAINIUM_TELEMETRY_SENSORS);
	full.throttle = q.throttle;
	full.power_uw = q.power_uw;
	full.power_max_uw = q.power_max_uw;
	full.energy_uj = q.energy_uj;
	full.num_dies = q.num_dies;
	full.num_stacks = q.num_stacks;
	full.temperature_max = q.temperature_max;
	full.temperature_crit = q.temperature_crit;
	memcpy(full.temperature, q.temperature, sizeof(full.temperature));
	return nrn_copy_out(telemetry, &full, sizeof(full), TELEMETRY_MIN, "neuron_telemetry");
}

static int request_reset(struct neuron_device *device, uint32_t scope, uint32_t index)
{
	struct drm_trainium_reset request = { .scope = scope, .index = index };
	int ret = nrn_backend->ioctl(device->fd, DRM_IOCTL_TRAINIUM_RESET, &request);

	if (ret == -EACCES || ret == -EPERM)
		return nrn_fail(-EPERM, "%s: a reset needs CAP_SYS_ADMIN", device->label);
	if (ret == -EINVAL && scope == TRAINIUM_RESET_CORE)
		return nrn_fail(ret, "%s: core %u does not exist", device->label, index);
	return ret ? nrn_device_fail(device, ret, "reset") : 0;
}

int neuron_device_reset(struct neuron_device *device)
{
	if (!device)
		return nrn_fail(-EINVAL, "%s: no device (NULL)", __func__);
	return request_reset(device, TRAINIUM_RESET_DEVICE, 0);
}

int neuron_device_reset_core(struct neuron_device *device, uint32_t core)
{
	if (!device)
		return nrn_fail(-EINVAL, "%s: no device (NULL)", __func__);
	return request_reset(device, TRAINIUM_RESET_CORE, core);
}
