/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Scale-up fabric: addresses, and the fabric block of the extension BAR at
 * TRN_EXT_FABRIC, present with TRN_EXT_FEAT_FABRIC. No public source shows how
 * the fabrics are addressed or controlled: all of this is this project's own
 * definition, see Documentation/hardware/fabric.rst. 32-bit accesses; of a
 * 64-bit value the low word comes first.
 */
#ifndef TRN_REGS_FABRIC_H
#define TRN_REGS_FABRIC_H

/*
 * Fabric aperture of the AXI map. Unicast: the address as the chip there has
 * it. Multicast (written only) and reduce-read (read only): 48:44 binding slot,
 * 43:0 offset in what each member has bound to it.
 */
#define TRN_FABRIC_AXI			(1ull << 63)
#define TRN_FABRIC_TYPE_SHIFT		60
#define TRN_FABRIC_TYPE_MASK		(7ull << 60)
#define  TRN_FABRIC_UNICAST		0ull
#define  TRN_FABRIC_MULTICAST		1ull
#define  TRN_FABRIC_REDUCE		2ull
#define TRN_FABRIC_ID_SHIFT		49		/* chip or group */
#define TRN_FABRIC_ID_MASK		0x7ffull
#define TRN_FABRIC_ADDR_MASK		((1ull << 49) - 1)
#define TRN_FABRIC_SLOT_SHIFT		44
#define TRN_FABRIC_SLOT_MASK		0x1full
#define TRN_FABRIC_OFFSET_MASK		((1ull << 44) - 1)
#define TRN_FABRIC_ADDR(type, id, addr) \
	(TRN_FABRIC_AXI | (type) << TRN_FABRIC_TYPE_SHIFT | \
	 (unsigned long long)(id) << TRN_FABRIC_ID_SHIFT | (addr))

/* Identity of the chip in its domain */
#define TRN_FAB_KIND			0x000u
#define  TRN_FAB_KIND_NONE		0u	/* attached to no fabric */
#define  TRN_FAB_KIND_NEURONLINK	1u
#define  TRN_FAB_KIND_NEURONSWITCH	2u
#define  TRN_FAB_KIND_NVLINK		3u
#define TRN_FAB_CAPS			0x004u
#define  TRN_FAB_CAP_MULTICAST		(1u << 0)
#define  TRN_FAB_CAP_REDUCE		(1u << 1)
#define TRN_FAB_NUM_PORTS		0x008u
#define TRN_FAB_SELF			0x00cu	/* own id */
#define TRN_FAB_NUM_CHIPS		0x010u	/* ids 0..n-1; not all need be there */
#define TRN_FAB_PLACE			0x014u	/* 7:0 chip in server, 19:8 server, 31:20 rack */
#define TRN_FAB_PARTITION		0x018u	/* 15:0 id, 31:16 changes so far */
#define  TRN_FAB_PARTITION_NONE		0xffffu	/* chip may talk to nobody */
#define TRN_FAB_UUID(i)			(0x020u + (i) * 4u)	/* of the domain, i: 0..3 */

/*
 * What changed; a one written clears. Each new bit sends the device event
 * TRN_EXT_DEVICE_SLOT_FABRIC.
 */
#define TRN_FAB_EVENT			0x030u
#define  TRN_FAB_EVENT_PORT		(1u << 0)	/* see TRN_FAB_PORT_EVENT_LO */
#define  TRN_FAB_EVENT_GROUP		(1u << 1)	/* see TRN_FAB_BROKEN */
#define  TRN_FAB_EVENT_PARTITION	(1u << 2)
#define TRN_FAB_PORT_EVENT_LO		0x034u	/* ports 31:0 whose state changed */
#define TRN_FAB_PORT_EVENT_HI		0x038u	/* ports 63:32 */
/* A group of this chip that broke; reading takes it away. ~0: no more */
#define TRN_FAB_BROKEN			0x03cu

/* Path: write the chip to DST, then read */
#define TRN_FAB_PATH_DST		0x040u
#define TRN_FAB_PATH_STATUS		0x044u	/* 7:0 TRN_FAB_ST_*, 15:8 links on the way */
#define  TRN_FAB_ST_OK			0u
#define  TRN_FAB_ST_NO_CHIP		1u	/* no such id, or nothing plugged in */
#define  TRN_FAB_ST_PARTITION		2u	/* in another partition */
#define  TRN_FAB_ST_NO_PATH		3u	/* links on the way are down */
#define  TRN_FAB_ST_NO_GROUP		4u	/* no such group, or not a member */
#define  TRN_FAB_ST_BROKEN		5u	/* group lost a member or a link */
#define  TRN_FAB_ST_UNBOUND		6u	/* a member has bound nothing there */
#define  TRN_FAB_ST_ADDRESS		7u	/* nothing to be reached at that address */
#define  TRN_FAB_ST_BAD_OP		8u	/* reduction or aperture not offered */
#define TRN_FAB_PATH_RATE		0x048u	/* MB/s, one direction, idle fabric */
#define TRN_FAB_PATH_LATENCY		0x04cu	/* ns */
#define TRN_FAB_PATH_PORTS_LO		0x050u	/* own ports it leaves by */
#define TRN_FAB_PATH_PORTS_HI		0x054u
#define TRN_FAB_PATH_SERIAL_LO		0x058u	/* serial number read from that chip */
#define TRN_FAB_PATH_SERIAL_HI		0x05cu

/* The newest access that failed; writing STATUS clears */
#define TRN_FAB_ERR_STATUS		0x060u	/* 7:0 TRN_FAB_ST_*, 15:8 engine, 31 valid */
#define  TRN_FAB_ERR_VALID		(1u << 31)
#define TRN_FAB_ERR_ADDR_LO		0x064u	/* fabric address */
#define TRN_FAB_ERR_ADDR_HI		0x068u
#define TRN_FAB_ERR_COUNT		0x06cu	/* failed accesses since power-on */
/* Engines with an access that failed, bit per engine; a one written clears. i: 0..7 */
#define TRN_FAB_ERR_ENGINES(i)		(0x0c0u + (i) * 4u)
#define TRN_FAB_ERR_ENGINE_WORDS	8u

/* Groups: write the arguments, then the command, then read RESULT */
#define TRN_FAB_GROUP_ID		0x080u	/* argument; result of CREATE */
#define TRN_FAB_GROUP_ARG		0x084u	/* CREATE: members; BIND, UNBIND: slot */
#define TRN_FAB_GROUP_ADDR_LO		0x088u	/* BIND: own HBM, AXI address */
#define TRN_FAB_GROUP_ADDR_HI		0x08cu
#define TRN_FAB_GROUP_SIZE_LO		0x090u	/* BIND: bytes */
#define TRN_FAB_GROUP_SIZE_HI		0x094u
#define TRN_FAB_GROUP_CMD		0x098u
#define  TRN_FAB_GROUP_CREATE		1u	/* this chip owns it and has not joined */
#define  TRN_FAB_GROUP_JOIN		2u
#define  TRN_FAB_GROUP_BIND		3u	/* once all members have joined */
#define  TRN_FAB_GROUP_UNBIND		4u
#define  TRN_FAB_GROUP_LEAVE		5u	/* breaks the group for those that stay */
#define  TRN_FAB_GROUP_DESTROY		6u	/* owner only */
#define  TRN_FAB_GROUP_QUERY		7u
#define TRN_FAB_GROUP_RESULT		0x09cu
#define  TRN_FAB_RES_OK			0u
#define  TRN_FAB_RES_INVALID		1u	/* argument out of range, address not HBM */
#define  TRN_FAB_RES_NO_GROUP		2u
#define  TRN_FAB_RES_FULL		3u	/* no group left, or all members have joined */
#define  TRN_FAB_RES_DENIED		4u	/* not the owner, not a member, other partition */
#define  TRN_FAB_RES_BUSY		5u	/* already joined or bound, or members missing */
#define  TRN_FAB_RES_BROKEN		6u
#define  TRN_FAB_RES_UNSUPPORTED	7u
#define TRN_FAB_GROUP_STATE		0x0a0u	/* after QUERY */
#define  TRN_FAB_GROUP_FORMING		0u	/* members missing */
#define  TRN_FAB_GROUP_READY		1u
#define  TRN_FAB_GROUP_BROKEN		2u
#define TRN_FAB_GROUP_MEMBERS		0x0a4u	/* after QUERY: 11:0 joined, 27:16 wanted */
#define TRN_FAB_GROUP_LIMIT		0x0a8u	/* 11:0 groups of the domain, 27:16 slots */
#define TRN_FAB_GROUP_GRANULE		0x0acu	/* bound addresses and sizes are multiples */
/* Reductions the fabric can do: bit per TRN_META_DTYPE_*, TRN_META_OP_* */
#define TRN_FAB_REDUCE_DTYPES		0x0b0u
#define TRN_FAB_REDUCE_OPS		0x0b4u

/* Ports */
#define TRN_FAB_MAX_PORTS		64u
#define TRN_FAB_PORT(p)			(0x1000u + (p) * 0x100u)

/* Of a port: what it is */
#define TRN_PORT_INFO			0x00u	/* 7:0 kind, 15:8 lanes */
#define  TRN_PORT_KIND_CHIP		1u	/* to a chip of the same server */
#define  TRN_PORT_KIND_SWITCH		2u	/* to a switch */
#define  TRN_PORT_KIND_RACK		3u	/* to a chip of another rack */
#define  TRN_PORT_KIND_NODE		4u	/* to a chip of another node of an UltraServer */
#define TRN_PORT_MAX_RATE		0x04u	/* MB/s of a lane, one direction */
/* As the wiring plan wants it, and as read from the wire: */
#define TRN_PORT_EXPECT			0x08u	/* 10:0 node, 16 switch, 30:20 port, 31 valid */
#define TRN_PORT_PEER			0x0cu
#define  TRN_PORT_PEER_NODE_MASK	0x7ffu
#define  TRN_PORT_PEER_SWITCH		(1u << 16)
#define  TRN_PORT_PEER_PORT_SHIFT	20
#define  TRN_PORT_PEER_PORT_MASK	0x7ff00000u
#define  TRN_PORT_PEER_VALID		(1u << 31)
#define TRN_PORT_PEER_SERIAL_LO		0x10u
#define TRN_PORT_PEER_SERIAL_HI		0x14u

/* What is asked of it, kept over a device reset */
#define TRN_PORT_ADMIN			0x20u
#define  TRN_PORT_ADMIN_DISABLED	0u
#define  TRN_PORT_ADMIN_ENABLED		1u
#define  TRN_PORT_ADMIN_DRAINED		2u	/* trained, but carries nothing */
#define TRN_PORT_LANE_CAP		0x24u	/* lanes at most; 0: all */
#define TRN_PORT_RATE_CAP		0x28u	/* MB/s of a lane at most; 0: the maximum */
#define TRN_PORT_LOOPBACK		0x2cu	/* 1: internal */
#define TRN_PORT_COMMAND		0x30u
#define  TRN_PORT_CMD_TRAIN		1u	/* again, now */
#define  TRN_PORT_CMD_RESET		2u	/* off, detect, train; clears the latch */
#define  TRN_PORT_CMD_CLEAR_LATCH	3u
#define  TRN_PORT_CMD_SNAPSHOT		4u	/* counters below are of this moment */
#define  TRN_PORT_CMD_CLEAR_COUNTERS	5u	/* from 0, as a new epoch */

/* How it is */
#define TRN_PORT_STATE			0x40u	/* 7:0 state, 15:8 reason, 16 latch */
#define  TRN_PORT_OFF			0u
#define  TRN_PORT_DETECT		1u
#define  TRN_PORT_TRAINING		2u
#define  TRN_PORT_UP			3u
#define  TRN_PORT_DEGRADED		4u	/* up with fewer lanes or at a lower rate */
#define  TRN_PORT_RECOVERY		5u
#define  TRN_PORT_FAILED		6u
#define  TRN_PORT_DISABLED		7u
#define  TRN_PORT_REASON_SHIFT		8
#define  TRN_PORT_REASON_NONE		0u
#define  TRN_PORT_REASON_NO_PEER	1u	/* nothing at the other end */
#define  TRN_PORT_REASON_WRONG_PEER	2u	/* not what the wiring plan wants */
#define  TRN_PORT_REASON_TIMEOUT	3u	/* other end does not train */
#define  TRN_PORT_REASON_FLAPPING	4u	/* latched until cleared or reset */
#define  TRN_PORT_REASON_ERRORS		5u	/* error threshold */
#define  TRN_PORT_REASON_PEER_OFF	6u	/* disabled there, or switch off */
#define  TRN_PORT_REASON_LANES		7u	/* lanes lost */
#define  TRN_PORT_REASON_CAP		8u	/* lane or rate cap, here or there */
#define  TRN_PORT_REASON_CABLE		9u	/* link pulled */
#define  TRN_PORT_LATCHED		(1u << 16)
#define TRN_PORT_LANES			0x44u	/* in use */
#define TRN_PORT_RATE			0x48u	/* MB/s of a lane, now */
#define TRN_PORT_ATTEMPTS		0x4cu	/* trainings begun */
#define TRN_PORT_CHANGED_LO		0x50u	/* when its state changed: ns since power-on */
#define TRN_PORT_CHANGED_HI		0x54u

/* Counters as of the last snapshot */
#define TRN_PORT_EPOCH			0x78u	/* clears so far */
#define TRN_PORT_SNAP_TIME_LO		0x7cu	/* ns since power-on */
#define TRN_PORT_SNAP_TIME_HI		0x80u
#define TRN_PORT_COUNTER(i)		(0x88u + (i) * 8u)
#define  TRN_PORT_TX_BYTES		0u	/* payload */
#define  TRN_PORT_RX_BYTES		1u
#define  TRN_PORT_TX_PACKETS		2u	/* of TRN_FAB_PACKET_SIZE at most */
#define  TRN_PORT_RX_PACKETS		3u
#define  TRN_PORT_CRC_ERRORS		4u
#define  TRN_PORT_REPLAYS		5u
#define  TRN_PORT_RECOVERIES		6u
#define  TRN_PORT_LINK_DOWNS		7u
#define  TRN_PORT_DISCARDS		8u	/* packets with no way on */
#define  TRN_PORT_BLOCKED		9u	/* packets for another partition */
#define  TRN_PORT_MULTICASTS		10u	/* packets, of those above */
#define  TRN_PORT_REDUCTIONS		11u
#define  TRN_PORT_NUM_COUNTERS		12u
#define TRN_FAB_PACKET_SIZE		256u

#endif
