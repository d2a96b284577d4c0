/* SPDX-License-Identifier: MIT */
/*
 * Devices: finding, opening and asking them.
 */
#ifndef NEURON_DEVICE_H
#define NEURON_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#include <neuron/version.h>

#ifdef __cplusplus
extern "C" {
#endif

/** struct neuron_device - an open device; opaque */
struct neuron_device;

/** Stacks, dies and text that the structures below have room for. */
#define NEURON_MAX_STACKS	8
#define NEURON_MAX_DIES		4
#define NEURON_NAME_SIZE	32
#define NEURON_PATH_SIZE	64

/** Any HBM stack */
#define NEURON_STACK_ANY	0xffffffffu

/**
 * struct neuron_device_entry - a device that neuron_enumerate() has found
 */
struct neuron_device_entry {
	/** @size: bytes of this structure that the library has filled */
	uint32_t size;
	/** @index: number for neuron_device_open(), from 0 without gaps */
	uint32_t index;
	/** @accel: N of /dev/accel/accelN; may have gaps */
	uint32_t accel;
	/** @numa_node: NUMA node, -1 if the machine has none */
	int32_t numa_node;
	/** @pci_address: for example "0000:00:04.0" */
	char pci_address[NEURON_NAME_SIZE];
	/** @node: for example "/dev/accel/accel0" */
	char node[NEURON_PATH_SIZE];
};

/**
 * neuron_enumerate() - list the devices that this process could open
 * @entries: array to fill, may be NULL when @capacity is 0
 * @entry_size: sizeof(struct neuron_device_entry)
 * @capacity: elements of @entries
 *
 * Devices of the driver "trainium" in the order of their accel numbers
 * (accel10 after accel9). One whose node is not there, as in a container that
 * was given only some, is left out. Nothing is opened.
 *
 * Return: number of devices found, which may be more than @capacity; 0 if
 * there is none, and then neuron_last_error() says what is missing; -EINVAL.
 */
NEURON_API int neuron_enumerate(struct neuron_device_entry *entries, size_t entry_size,
				uint32_t capacity);

/**
 * neuron_device_open() - open a device by its number
 * @index: number as in struct neuron_device_entry
 * @device: out: the device
 *
 * Return: 0; -ENODEV no such device (the sentence tells a missing module from
 * a missing device); -ENOENT its node is missing; -EACCES; -EOPNOTSUPP the
 * driver speaks another version of the interface; -ENOMEM.
 */
NEURON_API int neuron_device_open(uint32_t index, struct neuron_device **device);

/**
 * neuron_device_open_name() - open a device by a name that a person types
 * @name: index ("0"), accel name ("accel0"), path ("/dev/accel/accel0") or
 *	PCI address ("0000:00:04.0" or "00:04.0")
 * @device: out: the device
 *
 * Return: as neuron_device_open(); -EINVAL @name is none of these.
 */
NEURON_API int neuron_device_open_name(const char *name, struct neuron_device **device);

/**
 * neuron_device_open_fd() - use a device node that is open already
 * @fd: file descriptor of the node; it is duplicated
 * @device: out: the device
 *
 * Handles belong to the open file, so a program that uses the same file by
 * other means sees the same handles.
 *
 * Return: as neuron_device_open().
 */
NEURON_API int neuron_device_open_fd(int fd, struct neuron_device **device);

/**
 * neuron_device_close() - give a device back
 * @device: device, or NULL
 *
 * The file is closed when the last of its buffers, queues and fences has been
 * destroyed too.
 */
NEURON_API void neuron_device_close(struct neuron_device *device);

/**
 * neuron_device_get_fd() - file descriptor of the open node
 * @device: device
 *
 * Return: the descriptor, which still belongs to @device; -EINVAL for NULL.
 */
NEURON_API int neuron_device_get_fd(const struct neuron_device *device);

/** Features, bits of struct neuron_device_info */
#define NEURON_FEATURE_IRQ		(1ull << 0)	/* completion by interrupt */
#define NEURON_FEATURE_HBM_MAP		(1ull << 1)	/* HBM can be mapped */
#define NEURON_FEATURE_USERPTR		(1ull << 2)	/* neuron_buffer_create_userptr() */
#define NEURON_FEATURE_QUEUE_FENCED	(1ull << 3)	/* queues of bounded work */
#define NEURON_FEATURE_QUEUE_USER	(1ull << 4)	/* queues whose work may wait */
#define NEURON_FEATURE_SEMAPHORE	(1ull << 10)	/* NEURON_OP_SIGNAL, _WAIT */
#define NEURON_FEATURE_FABRIC		(1ull << 5)	/* fabric ports */
#define NEURON_FEATURE_MODEL_CLOCK	(1ull << 6)	/* a model with a clock of its own */
#define NEURON_FEATURE_TIMESTAMP	(1ull << 9)	/* NEURON_OP_TIMESTAMP */
#define NEURON_FEATURE_EVENTS		(1ull << 7)	/* neuron_events_open() */
#define NEURON_FEATURE_P2P		(1ull << 8)	/* HBM for other devices */

/**
 * struct neuron_device_info - identity and shape of a device
 */
struct neuron_device_info {
	/** @size: in: sizeof; out: bytes that the library has filled */
	uint32_t size;
	/** @generation: 1 to 4 for Trainium1 to Trainium4 */
	uint32_t generation;
	/** @features: NEURON_FEATURE_* */
	uint64_t features;
	/** @name: for example "trainium2" */
	char name[NEURON_NAME_SIZE];
	/** @node: for example "/dev/accel/accel0" */
	char node[NEURON_PATH_SIZE];
	/** @pci_address: for example "0000:00:04.0" */
	char pci_address[NEURON_NAME_SIZE];
	/** @driver: name of the kernel driver */
	char driver[NEURON_NAME_SIZE];
	/** @driver_version: version of the driver, major, minor, patch */
	uint32_t driver_version[3];
	/** @accel: N of /dev/accel/accelN */
	uint32_t accel;
	/** @uapi_major: major version of the driver's interface */
	uint32_t uapi_major;
	/** @uapi_minor: minor version of the driver's interface */
	uint32_t uapi_minor;
	/** @serial: serial number, 0 if the firmware gives none */
	uint64_t serial;
	/** @routing_id: place of the chip in its server */
	uint32_t routing_id;
	/** @device_index: number of the chip in its server, by the vendor's order */
	uint32_t device_index;
	/** @firmware_api: API version of the firmware */
	uint32_t firmware_api;
	/** @firmware_build: build number of the firmware, 0 if it gives none */
	uint32_t firmware_build;
	/** @num_cores: NeuronCores */
	uint32_t num_cores;
	/** @num_stacks: HBM stacks */
	uint32_t num_stacks;
	/** @num_engines: DMA engines */
	uint32_t num_engines;
	/** @queues_per_engine: hardware rings of an engine */
	uint32_t queues_per_engine;
	/** @hbm_size: usable bytes over all stacks */
	uint64_t hbm_size;
	/** @reset_count: device resets since the driver found the device */
	uint64_t reset_count;
	/** @num_vectors: interrupt vectors in use, 0 when the driver polls */
	uint32_t num_vectors;
	/** @numa_node: NUMA node, -1 if the machine has none */
	int32_t numa_node;
	/** @event_types: NEURON_EVENT_* that the driver has. This and what follows since 0.5 */
	uint64_t event_types;
	/** @pci_revision: PCI revision */
	uint32_t pci_revision;
	/** @reserved: 0 */
	uint32_t reserved;
};

/**
 * neuron_device_get_info() - identity and shape of a device
 * @device: device
 * @info: out; the caller sets info->size
 *
 * Asks the driver, so that reset_count is fresh.
 *
 * Return: 0; -EINVAL info->size is too small; -ENODEV.
 */
NEURON_API int neuron_device_get_info(struct neuron_device *device,
				      struct neuron_device_info *info);

/**
 * struct neuron_memory_info - memory of a device or of one of its HBM stacks
 */
struct neuron_memory_info {
	/** @size: in: sizeof; out: bytes that the library has filled */
	uint32_t size;
	/** @buffers: number of buffers of all processes */
	uint32_t buffers;
	/** @total: usable bytes */
	uint64_t total;
	/** @free: bytes not allocated */
	uint64_t free;
	/** @largest_free: longest contiguous free range, bytes */
	uint64_t largest_free;
	/** @cpu_visible: bytes that can be mapped */
	uint64_t cpu_visible;
	/** @cpu_visible_free: of those, bytes not allocated; since 0.5 */
	uint64_t cpu_visible_free;
};

/**
 * neuron_device_get_memory() - state of the memory
 * @device: device
 * @stack: HBM stack, or NEURON_STACK_ANY for the sum over all (of
 *	largest_free the maximum)
 * @info: out; the caller sets info->size
 *
 * Return: 0; -EINVAL no such stack, or info->size is too small; -ENODEV.
 */
NEURON_API int neuron_device_get_memory(struct neuron_device *device, uint32_t stack,
					struct neuron_memory_info *info);

/**
 * struct neuron_limits - limits of an open device and of a call
 */
struct neuron_limits {
	/** @size: in: sizeof; out: bytes that the library has filled */
	uint32_t size;
	/** @max_queues: queues of an open device */
	uint32_t max_queues;
	/** @max_rings: hardware rings of an open device */
	uint32_t max_rings;
	/** @max_ops: ops that the driver takes at once; the library splits longer lists */
	uint32_t max_ops;
	/** @max_waits: fences that a submit can wait for */
	uint32_t max_waits;
	/** @alignment: offsets and sizes with this alignment are fastest, bytes */
	uint32_t alignment;
	/** @max_buffer_size: bytes of an HBM buffer */
	uint64_t max_buffer_size;
	/** @max_job_bytes: bytes that the driver moves at once; the library splits more */
	uint64_t max_job_bytes;
	/** @job_timeout_ns: time without progress after which work fails */
	uint64_t job_timeout_ns;
	/** @max_rows: rows of a strided copy; 0: the driver has none. Since 0.2 */
	uint32_t max_rows;
	/** @max_list_descs: descriptors of a command list; 0: the driver has none */
	uint32_t max_list_descs;
	/** @max_list_patterns: different fill patterns of a list, zero not counted */
	uint32_t max_list_patterns;
	/** @reserved: 0 */
	uint32_t reserved;
	/** @max_hbm: bytes of HBM of an open device; 0: what there is. This and after: since 0.5 */
	uint64_t max_hbm;
	/** @max_pinned: bytes of host buffers and pinned memory of an open device; 0: no limit */
	uint64_t max_pinned;
	/** @max_buffers: buffers that an open device may create; 0: no limit */
	uint32_t max_buffers;
	/** @reserved2: 0 */
	uint32_t reserved2;
};

/**
 * neuron_device_get_limits() - limits
 * @device: device
 * @limits: out; the caller sets limits->size
 *
 * Return: 0; -EINVAL limits->size is too small.
 */
NEURON_API int neuron_device_get_limits(struct neuron_device *device,
					struct neuron_limits *limits);

/**
 * struct neuron_engine_info - one DMA engine
 */
struct neuron_engine_info {
	/** @size: in: sizeof; out: bytes that the library has filled */
	uint32_t size;
	/** @stack: nearest HBM stack */
	uint32_t stack;
	/** @core: core that the engine belongs to, -1 for an engine of the host */
	int32_t core;
	/** @host_access: not 0 if the engine reaches host memory */
	uint32_t host_access;
	/** @aborted: not 0 while the engine is stopped by an error */
	uint32_t aborted;
	/** @rings_free: rings that can still be given to a queue */
	uint32_t rings_free;
	/** @bytes: bytes moved since the driver found the device */
	uint64_t bytes;
	/** @resets: resets of the engine since then */
	uint64_t resets;
	/** @busy_ns: time with work since then */
	uint64_t busy_ns;
	/** @out_of_service: not 0 if no reset brings it back; others do its work. Since 0.5 */
	uint32_t out_of_service;
	/** @reserved: 0 */
	uint32_t reserved;
};

/**
 * neuron_device_get_engine() - state of a DMA engine
 * @device: device
 * @engine: number, below num_engines of the device
 * @info: out; the caller sets info->size
 *
 * Return: 0; -EINVAL no such engine, or info->size is too small; -ENODEV.
 */
NEURON_API int neuron_device_get_engine(struct neuron_device *device, uint32_t engine,
					struct neuron_engine_info *info);

/** enum neuron_repair_state - repair of HBM */
enum neuron_repair_state {
	NEURON_REPAIR_NONE = 0,		/* nothing to repair */
	NEURON_REPAIR_PENDING = 1,	/* it waits to be done */
	NEURON_REPAIR_FAILED = 2,	/* it could not be done */
};

/**
 * struct neuron_telemetry - what the firmware reports
 */
struct neuron_telemetry {
	/** @size: in: sizeof; out: bytes that the library has filled */
	uint32_t size;
	/** @sram_ecc_corrected: errors of on-chip memory */
	uint32_t sram_ecc_corrected;
	/** @sram_ecc_uncorrected: errors of on-chip memory */
	uint32_t sram_ecc_uncorrected;
	/** @hbm_ecc_corrected: errors by stack */
	uint32_t hbm_ecc_corrected[NEURON_MAX_STACKS];
	/** @hbm_ecc_uncorrected: errors by stack */
	uint32_t hbm_ecc_uncorrected[NEURON_MAX_STACKS];
	/** @hbm_repair_state: enum neuron_repair_state */
	uint32_t hbm_repair_state;
	/** @health: health bits, 0 is healthy */
	uint32_t health;
	/** @heartbeat: moves while the firmware lives */
	uint32_t heartbeat;
	/** @power_util: by die, hundredths of a percent of the maximum */
	uint32_t power_util[NEURON_MAX_DIES];
	/** @pad: zero */
	uint32_t pad;
	/** @sensors: not 0 if the firmware has the sensors that follow */
	uint32_t sensors;
	/** @throttle: how far the clock is throttled, hundredths of a percent */
	uint32_t throttle;
	/** @hbm_ecc_repairable: of the uncorrected errors those that can be repaired */
	uint32_t hbm_ecc_repairable[NEURON_MAX_STACKS];
	/** @power_uw: power of the chip, microwatts */
	uint64_t power_uw;
	/** @power_max_uw: power at full utilisation, microwatts */
	uint64_t power_max_uw;
	/** @energy_uj: since power-on, microjoules */
	uint64_t energy_uj;
	/** @num_dies: temperatures of dies */
	uint32_t num_dies;
	/** @num_stacks: temperatures of stacks */
	uint32_t num_stacks;
	/** @temperature_max: from here on the chip throttles, thousandths of a degree Celsius */
	int32_t temperature_max;
	/** @temperature_crit: from here on it may be damaged */
	int32_t temperature_crit;
	/** @temperature: of the dies, then of the stacks */
	int32_t temperature[NEURON_MAX_DIES + NEURON_MAX_STACKS];
};

/**
 * neuron_device_get_telemetry() - counters and health from the firmware
 * @device: device
 * @telemetry: out; the caller sets telemetry->size
 *
 * Return: 0; -EINVAL telemetry->size is too small; -ENODEV; -ETIME the
 * firmware does not answer.
 */
NEURON_API int neuron_device_get_telemetry(struct neuron_device *device,
					   struct neuron_telemetry *telemetry);

/**
 * neuron_device_reset() - reset the whole device
 * @device: device
 *
 * Work of all processes on the device ends with -ECANCELED. Buffers and
 * mappings stay, the contents of HBM are lost.
 *
 * Return: 0; -EPERM without CAP_SYS_ADMIN; -EIO the device did not come back;
 * -ENODEV.
 */
NEURON_API int neuron_device_reset(struct neuron_device *device);

/**
 * neuron_device_reset_core() - reset the DMA engines of one core
 * @device: device
 * @core: number, below num_cores of the device
 *
 * Return: as neuron_device_reset(); -EINVAL no such core.
 */
NEURON_API int neuron_device_reset_core(struct neuron_device *device, uint32_t core);

#ifdef __cplusplus
}
#endif

#endif
