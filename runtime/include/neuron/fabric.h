/* SPDX-License-Identifier: MIT */
/*
 * The fabric that joins chips: where a chip is, its ports, the way to other
 * chips, and groups for multicast and reduction. Since 0.3.
 *
 * Memory of another chip is used like any other buffer: export it there,
 * import it here (neuron_buffer_export(), neuron_buffer_import()). The import
 * fails with -EXDEV when the fabric has no way.
 */
#ifndef NEURON_FABRIC_H
#define NEURON_FABRIC_H

#include <stdint.h>

#include <neuron/buffer.h>
#include <neuron/device.h>

#ifdef __cplusplus
extern "C" {
#endif

/** enum neuron_fabric_kind - what joins the chips */
enum neuron_fabric_kind {
	NEURON_FABRIC_NONE = 0,		/* the chip has no fabric */
	NEURON_FABRIC_NEURONLINK = 1,	/* torus of links */
	NEURON_FABRIC_NEURONSWITCH = 2,	/* NeuronSwitch-v1 */
	NEURON_FABRIC_NVLINK = 3,	/* NVLink Fusion */
};

/** The fabric can write to all members of a group at once */
#define NEURON_FABRIC_MULTICAST	(1u << 0)
/** The fabric can combine what members of a group hold */
#define NEURON_FABRIC_REDUCE	(1u << 1)

/**
 * struct neuron_fabric_info - the chip's place in its fabric
 */
struct neuron_fabric_info {
	/** @size: in: sizeof; out: bytes that the library has filled */
	uint32_t size;
	/** @kind: enum neuron_fabric_kind; all that follows is 0 without one */
	uint32_t kind;
	/** @caps: NEURON_FABRIC_MULTICAST, NEURON_FABRIC_REDUCE */
	uint32_t caps;
	/** @chip: id of the chip in the domain */
	uint32_t chip;
	/** @uuid: of the domain: all chips that links join */
	uint8_t uuid[16];
	/** @num_chips: ids are below this; not all need be there */
	uint32_t num_chips;
	/** @rack: where the chip is */
	uint32_t rack;
	/** @server: where the chip is */
	uint32_t server;
	/** @position: in its server */
	uint32_t position;
	/** @num_ports: ports of the chip */
	uint32_t num_ports;
	/** @partition: chips of one partition may talk to each other; 0xffff: to nobody */
	uint32_t partition;
	/** @partition_changes: times that it has changed */
	uint32_t partition_changes;
	/** @max_groups: groups of the domain, for all */
	uint32_t max_groups;
	/** @ports_up: bit p: port p carries traffic */
	uint64_t ports_up;
	/** @group_slots: ranges that a member of a group can bind */
	uint32_t group_slots;
	/** @group_granule: they begin and end at multiples of it: alignment of their buffers */
	uint32_t group_granule;
	/** @reduce_dtypes: bit per NEURON_DTYPE_* that the fabric combines */
	uint32_t reduce_dtypes;
	/** @reduce_combines: bit per NEURON_COMBINE_* */
	uint32_t reduce_combines;
	/** @errors: accesses of this chip that the fabric refused */
	uint32_t errors;
	/** @pad: zero */
	uint32_t pad;
};

/**
 * neuron_fabric_get_info() - where a chip is
 * @device: device
 * @info: out; the caller sets info->size
 *
 * Return: 0, also without a fabric; -EINVAL info->size is too small; -ENODEV.
 */
NEURON_API int neuron_fabric_get_info(struct neuron_device *device,
				      struct neuron_fabric_info *info);

/** enum neuron_port_state - how a port is */
enum neuron_port_state {
	NEURON_PORT_OFF = 0,		/* in reset or without power */
	NEURON_PORT_DETECT = 1,		/* looks for something at the other end */
	NEURON_PORT_TRAINING = 2,	/* both ends agree on lanes and rate */
	NEURON_PORT_UP = 3,		/* carries traffic */
	NEURON_PORT_DEGRADED = 4,	/* carries traffic, with fewer lanes or slower */
	NEURON_PORT_RECOVERY = 5,	/* was up, trains again */
	NEURON_PORT_FAILED = 6,		/* has given up */
	NEURON_PORT_DISABLED = 7,	/* switched off by software here */
};

/** enum neuron_port_counter - index of a counter of a port; packets have at most 256 bytes */
enum neuron_port_counter {
	NEURON_PORT_TX_BYTES = 0,	/* payload */
	NEURON_PORT_RX_BYTES = 1,	/* received */
	NEURON_PORT_TX_PACKETS = 2,	/* sent */
	NEURON_PORT_RX_PACKETS = 3,	/* received */
	NEURON_PORT_CRC_ERRORS = 4,	/* packets that came damaged */
	NEURON_PORT_REPLAYS = 5,	/* packets sent again for that */
	NEURON_PORT_RECOVERIES = 6,	/* times the link had to be trained again */
	NEURON_PORT_LINK_DOWNS = 7,	/* times it went down */
	NEURON_PORT_DISCARDS = 8,	/* packets with no way on */
	NEURON_PORT_BLOCKED = 9,	/* packets for another partition */
	NEURON_PORT_MULTICASTS = 10,	/* packets, of those above */
	NEURON_PORT_REDUCTIONS = 11,	/* packets of reductions in the network */
	NEURON_PORT_NUM_COUNTERS = 12,	/* how many there are */
};

#define NEURON_PORT_LATCHED	(1u << 0)	/* stays failed until cleared */
#define NEURON_PORT_PEER	(1u << 1)	/* peer was read from the wire */
#define NEURON_PORT_PEER_SWITCH	(1u << 2)	/* and is a switch */
#define NEURON_PORT_EXPECT	(1u << 3)	/* the wiring plan wants a link here */
#define NEURON_PORT_EXPECT_SWITCH (1u << 4)	/* to a switch */
#define NEURON_PORT_LOOPBACK	(1u << 5)	/* receives what it sends */

/** enum neuron_port_kind - where a port leads */
enum neuron_port_kind {
	NEURON_PORT_TO_CHIP = 1,	/* of the same server */
	NEURON_PORT_TO_SWITCH = 2,	/* its other end is at a switch */
	NEURON_PORT_TO_RACK = 3,	/* a chip of another rack */
	NEURON_PORT_TO_NODE = 4,	/* a chip of another node of an UltraServer */
};

/** enum neuron_port_admin - what is asked of a port */
enum neuron_port_admin {
	NEURON_PORT_ADMIN_DISABLED = 0,	/* is to be off */
	NEURON_PORT_ADMIN_ENABLED = 1,	/* is to be on */
	NEURON_PORT_ADMIN_DRAINED = 2,	/* trained, but carries nothing */
};

/**
 * struct neuron_port_info - a port, and its counters at one moment
 */
struct neuron_port_info {
	/** @size: in: sizeof; out: bytes that the library has filled */
	uint32_t size;
	/** @flags: NEURON_PORT_LATCHED and the others */
	uint32_t flags;
	/** @kind: enum neuron_port_kind */
	uint32_t kind;
	/** @admin: enum neuron_port_admin */
	uint32_t admin;
	/** @state: enum neuron_port_state */
	uint32_t state;
	/** @reason: why it is not up; neuron_port_reason_string() */
	uint32_t reason;
	/** @max_lanes: that it has */
	uint32_t max_lanes;
	/** @lanes: in use */
	uint32_t lanes;
	/** @max_rate: MB/s of a lane, one direction */
	uint32_t max_rate;
	/** @rate: the same, now */
	uint32_t rate;
	/** @lane_cap: lanes at most, 0: all */
	uint32_t lane_cap;
	/** @rate_cap: MB/s of a lane at most, 0: the maximum */
	uint32_t rate_cap;
	/** @peer: chip or switch at the other end */
	uint32_t peer;
	/** @peer_port: its port */
	uint32_t peer_port;
	/** @expect: what the wiring plan wants there */
	uint32_t expect;
	/** @expect_port: its port */
	uint32_t expect_port;
	/** @peer_serial: serial number of what is there */
	uint64_t peer_serial;
	/** @changed_ns: when its state has changed, since power-on of the chip */
	uint64_t changed_ns;
	/** @snapshot_ns: when the counters were read, on the same clock */
	uint64_t snapshot_ns;
	/** @attempts: trainings begun */
	uint32_t attempts;
	/** @epoch: times that the counters were cleared */
	uint32_t epoch;
	/** @counters: by enum neuron_port_counter */
	uint64_t counters[16];
};

/**
 * neuron_port_get_info() - state and counters of a port
 * @device: device
 * @port: number, below num_ports of the fabric
 * @info: out; the caller sets info->size
 *
 * Return: 0; -EINVAL no such port, or info->size is too small; -EOPNOTSUPP no
 * fabric; -ENODEV.
 */
NEURON_API int neuron_port_get_info(struct neuron_device *device, uint32_t port,
				    struct neuron_port_info *info);

/** enum neuron_port_op - what neuron_port_control() does */
enum neuron_port_op {
	NEURON_PORT_ENABLE = 0,		/* switch on, or end a drain */
	NEURON_PORT_DISABLE = 1,	/* switch off */
	NEURON_PORT_DRAIN = 2,		/* carry nothing any more, but stay trained */
	NEURON_PORT_TRAIN = 3,		/* train again */
	NEURON_PORT_RESET = 4,		/* begin from nothing; clears the latch */
	NEURON_PORT_LANE_CAP = 5,	/* value: lanes at most, 0: all */
	NEURON_PORT_RATE_CAP = 6,	/* value: MB/s of a lane at most, 0: the maximum */
	NEURON_PORT_SET_LOOPBACK = 7,	/* value: 1 looped back inside, 0 not */
	NEURON_PORT_CLEAR_LATCH = 8,	/* a port that was flapping may train again */
	NEURON_PORT_CLEAR_COUNTERS = 9,	/* begin a new epoch */
};

/** Even if that takes the last way to peers that are in use */
#define NEURON_PORT_FORCE	(1u << 0)

/**
 * neuron_port_control() - control a port
 * @device: device
 * @port: number
 * @op: enum neuron_port_op
 * @value: of the op; else 0
 * @flags: 0 or NEURON_PORT_FORCE
 * @timeout_ns: time for the port to come to rest: up, degraded, failed or
 *	disabled; 0: do not wait
 * @state: out: enum neuron_port_state, in the end; NULL if not wanted
 *
 * What is so already is done without effect. Needs CAP_SYS_ADMIN.
 *
 * Return: 0, whatever state it has come to; -ETIME it has not come to rest, and
 * goes on; -EBUSY it is the last way to peers that are in use; -EINVAL; -EPERM;
 * -EOPNOTSUPP no fabric; -EINTR a signal came; -ENODEV.
 */
NEURON_API int neuron_port_control(struct neuron_device *device, uint32_t port, uint32_t op,
				   uint64_t value, uint32_t flags, int64_t timeout_ns,
				   uint32_t *state);

/**
 * neuron_port_set_threshold() - have a counter watched
 * @device: device
 * @port: number
 * @counter: enum neuron_port_counter
 * @value: NEURON_EVENT_COUNTER comes once when it is this or more; 0: never
 *
 * Needs CAP_SYS_ADMIN.
 *
 * Return: 0; -EINVAL; -EPERM; -EOPNOTSUPP no fabric; -ENODEV.
 */
NEURON_API int neuron_port_set_threshold(struct neuron_device *device, uint32_t port,
					 uint32_t counter, uint64_t value);

/** enum neuron_path_status - is there a way? */
enum neuron_path_status {
	NEURON_PATH_OK = 0,		/* yes, and data was moved there and back */
	NEURON_PATH_NO_CHIP = 1,	/* there is no such chip */
	NEURON_PATH_PARTITION = 2,	/* it is in another partition */
	NEURON_PATH_DOWN = 3,		/* links on the way are down */
	NEURON_PATH_UNTESTED = 8,	/* there should be one */
	NEURON_PATH_BAD = 9,		/* data did not arrive as it was sent */
};

/** Move data there and back, unless that was done since the fabric has changed */
#define NEURON_PATH_TEST	(1u << 0)

/**
 * struct neuron_path_info - the way to another chip
 */
struct neuron_path_info {
	/** @size: in: sizeof; out: bytes that the library has filled */
	uint32_t size;
	/** @status: enum neuron_path_status */
	uint32_t status;
	/** @links: on the way */
	uint32_t links;
	/** @rate: MB/s, one direction, when nothing else is on the way */
	uint32_t rate;
	/** @latency_ns: of the links and switches on the way */
	uint32_t latency_ns;
	/** @pad: zero */
	uint32_t pad;
	/** @ports: bit p: leaves by port p */
	uint64_t ports;
	/** @serial: serial number of that chip */
	uint64_t serial;
};

/**
 * neuron_fabric_get_path() - the way to another chip
 * @device: device
 * @chip: id of the other chip in the domain
 * @flags: 0 or NEURON_PATH_TEST
 * @path: out; the caller sets path->size
 *
 * Return: 0, whether there is a way or not; -EINVAL no such id, or its own;
 * -ENOENT it cannot be tested: this machine does not have that chip;
 * -EOPNOTSUPP no fabric; -ENODEV.
 */
NEURON_API int neuron_fabric_get_path(struct neuron_device *device, uint32_t chip,
				      uint32_t flags, struct neuron_path_info *path);

/** struct neuron_group - a group as one of its chips sees it; opaque */
struct neuron_group;

/**
 * struct neuron_group_id - what others need to join a group
 */
struct neuron_group_id {
	/** @id: number in the domain */
	uint32_t id;
	/** @reserved: 0 */
	uint32_t reserved;
	/** @key: who knows it may join */
	uint64_t key;
};

/** enum neuron_group_state - state of a group */
enum neuron_group_state {
	NEURON_GROUP_FORMING = 0,	/* members are missing */
	NEURON_GROUP_READY = 1,	/* all members have joined */
	NEURON_GROUP_BROKEN = 2,	/* a member or its links are lost */
};

/**
 * neuron_group_create() - create a group, and join it
 * @device: chip that owns it
 * @members: chips that will join, this one included
 * @group: out: the group
 *
 * Return: 0; -EINVAL; -ENOSPC the domain has no group left; -EDQUOT a limit of
 * the open device; -EOPNOTSUPP the fabric has no groups; -ENOMEM; -ENODEV.
 */
NEURON_API int neuron_group_create(struct neuron_device *device, uint32_t members,
				   struct neuron_group **group);

/**
 * neuron_group_get_id() - what to tell those who shall join
 * @group: group
 * @id: out
 *
 * Return: 0; -EINVAL.
 */
NEURON_API int neuron_group_get_id(const struct neuron_group *group,
				   struct neuron_group_id *id);

/**
 * neuron_group_join() - join a group
 * @device: chip that joins
 * @id: of the group, from neuron_group_get_id()
 * @group: out: the group as this chip sees it
 *
 * Return: 0; -EACCES the key is wrong; -EALREADY the chip is a member; -ENOSPC
 * all members have joined; -EXDEV the chip is in another partition; -ENOENT no
 * such group; -ENOTCONN it is broken; -ENOMEM; -ENODEV.
 */
NEURON_API int neuron_group_join(struct neuron_device *device, const struct neuron_group_id *id,
				 struct neuron_group **group);

/**
 * neuron_group_destroy() - leave a group; the creator destroys it
 * @group: group, or NULL
 *
 * It is broken for those who stay. Buffers made by neuron_group_map() stay
 * valid, but work that uses them fails.
 */
NEURON_API void neuron_group_destroy(struct neuron_group *group);

/**
 * neuron_group_get_state() - have all joined?
 * @group: group
 * @state: out: enum neuron_group_state
 * @members: out: that have joined; NULL if not wanted
 *
 * Return: 0; -EINVAL; -ENOENT it was destroyed; -ENODEV.
 */
NEURON_API int neuron_group_get_state(struct neuron_group *group, uint32_t *state,
				      uint32_t *members);

/**
 * neuron_group_bind() - memory of this chip that others reach through the group
 * @group: group, all members of which have joined
 * @slot: number, below group_slots of the fabric
 * @buffer: buffer in this chip's HBM, created with group_granule as alignment
 * @offset: in @buffer, a multiple of group_granule
 * @size: bytes, a multiple of it
 *
 * Return: 0; -EAGAIN members are missing; -EALREADY the slot is bound; -EINVAL;
 * -ENOTCONN the group is broken; -ENOENT it was destroyed; -ENODEV.
 */
NEURON_API int neuron_group_bind(struct neuron_group *group, uint32_t slot,
				 struct neuron_buffer *buffer, uint64_t offset, uint64_t size);

/**
 * neuron_group_unbind() - undo neuron_group_bind()
 * @group: group
 * @slot: number
 *
 * Return: 0; -ENOENT nothing is bound there; -EINVAL; -ENODEV.
 */
NEURON_API int neuron_group_unbind(struct neuron_group *group, uint32_t slot);

/**
 * neuron_group_map() - a buffer that stands for those of all members
 * @group: group
 * @slot: number
 * @size: bytes, whole pages
 * @buffer: out: the buffer
 *
 * A copy or fill to it is written at the same offset of what each member has
 * bound to the slot; NEURON_OP_REDUCE from it combines what they hold there. It
 * cannot be read or mapped in another way.
 *
 * Return: 0; -EINVAL; -ENOTCONN the group is broken; -ENOENT it was destroyed;
 * -ENOMEM; -ENODEV.
 */
NEURON_API int neuron_group_map(struct neuron_group *group, uint32_t slot, uint64_t size,
				struct neuron_buffer **buffer);

/**
 * neuron_fabric_kind_string() - kind of a fabric as text
 * @kind: enum neuron_fabric_kind
 *
 * Return: a short text, never NULL, not to be freed.
 */
NEURON_API const char *neuron_fabric_kind_string(uint32_t kind);

/**
 * neuron_port_state_string() - state of a port as text
 * @state: enum neuron_port_state
 *
 * Return: a short text, never NULL, not to be freed.
 */
NEURON_API const char *neuron_port_state_string(uint32_t state);

/**
 * neuron_port_reason_string() - why a port is not up
 * @reason: as in struct neuron_port_info
 *
 * Return: a short text, never NULL, not to be freed.
 */
NEURON_API const char *neuron_port_reason_string(uint32_t reason);

/**
 * neuron_path_status_string() - status of a path as text
 * @status: enum neuron_path_status
 *
 * Return: a short text, never NULL, not to be freed.
 */
NEURON_API const char *neuron_path_status_string(uint32_t status);

#ifdef __cplusplus
}
#endif

#endif
