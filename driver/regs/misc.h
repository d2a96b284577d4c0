/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * MISC RAM: the mailbox and status words shared with the management firmware.
 * 32-bit accesses only. Every word reads as TRN_MISC_NOT_READY while the
 * firmware is not up or the device is in reset.
 */
#ifndef TRN_REGS_MISC_H
#define TRN_REGS_MISC_H

#define TRN_MISC_SIZE			0x1000u
#define TRN_MISC_NOT_READY		0xdeadbeefu

#define TRN_MISC_API_VERSION		0x000u
#define  TRN_FW_API_POWER		3	/* first with power telemetry */
#define  TRN_FW_API_ECC_SPLIT		6	/* HBM ECC words tell repairable apart */
#define  TRN_FW_API_MAILBOX		7	/* first with the in-RAM mailbox */
#define TRN_MISC_HEALTH			0x004u
#define  TRN_HEALTH_HBM			(1u << 3)
#define  TRN_HEALTH_FW_API		(1u << 4)
#define  TRN_HEALTH_FW_PROC		(1u << 5)
#define  TRN_HEALTH_SRAM		(1u << 6)
#define  TRN_HEALTH_LINK_INTRA		(1u << 7)
#define  TRN_HEALTH_LINK_HOST		(1u << 8)
#define  TRN_HEALTH_LINK_EFA		(1u << 9)
#define  TRN_HEALTH_LINK_INTER		(1u << 10)
#define  TRN_HEALTH_LINK_SWITCH		(1u << 11)
#define  TRN_HEALTH_AXI			(1u << 12)
#define TRN_MISC_HEALTH_SEQ		0x00cu
#define  TRN_HEALTH_HEARTBEAT_SHIFT	12	/* bits 19:12 */
#define  TRN_HEALTH_HEARTBEAT_MASK	0xff000u
#define TRN_MISC_ROUTING_ID		0x024u	/* unique in a host */
#define  TRN_ROUTING_IDS		256u	/* own limit; known: 64, 128 behind switches */
#define TRN_MISC_INSTANCE		0x030u	/* 5:0 size, 30:16 partition, 31 valid */
#define TRN_MISC_SERIAL_LO		0x038u
#define TRN_MISC_SERIAL_HI		0x03cu
#define TRN_MISC_SRAM_ECC		0x040u	/* 31:16 corrected, 15:0 uncorrected */
/* From stack 4 and die 2 on (Trainium4): this project's own definition */
#define TRN_MISC_HBM_ECC(s)		(((s) < 4 ? 0x044u : 0x080u) + 4 * (s))
#define TRN_MISC_POWER(die)		(((die) < 2 ? 0x054u : 0x098u) + 4 * (die))
#define  TRN_POWER_UTIL_MASK		0xffffu	/* basis points */
#define  TRN_POWER_COUNT_SHIFT		16
#define TRN_MISC_HBM_REPAIR		0x064u
#define  TRN_HBM_REPAIR_MASK		3u	/* 0 none, 1 pending, 2 failed */
#define TRN_MISC_SERVER_ID		0x070u
#define TRN_MISC_FW_BUILD		0x074u
#define TRN_MISC_RESERVATION_HI		0x080u
#define TRN_MISC_RESERVATION_LO		0x084u
#define TRN_MISC_RUNTIME_SCRATCH0	0x0c0u	/* up to 0x0ef */
#define TRN_MISC_MBOX_ACK		0x0f0u
#define TRN_MISC_MBOX_DATA		0x100u	/* up to 0x17f */
#define TRN_MISC_MBOX_DATA_SIZE		0x80u
#define TRN_MISC_NEIGHBOUR_LEFT_HI	0x180u
#define TRN_MISC_NEIGHBOUR_LEFT_LO	0x184u
#define TRN_MISC_NEIGHBOUR_RIGHT_HI	0x188u
#define TRN_MISC_NEIGHBOUR_RIGHT_LO	0x18cu
#define TRN_MISC_POD_STATUS		0x190u
#define TRN_MISC_POD_SERIAL_HI		0x194u
#define TRN_MISC_POD_SERIAL_LO		0x198u
#define TRN_MISC_RUNTIME_SCRATCH1	0x1a0u	/* up to 0x1cf */
#define TRN_MISC_RESET_MAP_HI		0x1d4u	/* host engines of each SE */
#define TRN_MISC_RESET_MAP		0x1d8u
#define  TRN2_RESET_MAP_TPB_SHIFT	0
#define  TRN2_RESET_MAP_DMA_SHIFT	8
#define  TRN2_RESET_MAP_TOP_SP_SHIFT	16
#define  TRN2_RESET_MAP_HOST_SHIFT	32	/* of both words as one */
#define  TRN1_RESET_MAP_TOP_SP_SHIFT	8	/* engines: with their core */
#define TRN_MISC_RESET			0x1ecu
#define  TRN_RESET_DEVICE		1
#define  TRN_RESET_CORE			2
/* One mailbox or the other: buffer addresses (host memory), or the message */
#define TRN_MISC_REQUEST_HI		0x1f0u
#define TRN_MISC_REQUEST_LO		0x1f4u
#define TRN_MISC_RESPONSE_HI		0x1f8u
#define TRN_MISC_RESPONSE_LO		0x1fcu
#define TRN_MISC_MBOX_HEADER		0x1f0u
#define TRN_MISC_MBOX_CRC		0x1f4u
#define TRN_MISC_DOORBELL		0x800u
#define TRN_MISC_STATUS			0x808u
#define  TRN_STATUS_NOT_READY		(1u << 3)

/*
 * Message header: byte 0 sequence, 1 command, 2-3 total size, then CRC-32C.
 * A response has the error code in the place of the command.
 */
#define TRN_MSG_SEQ(h)			((h) & 0xffu)
#define TRN_MSG_CMD(h)			(((h) >> 8) & 0xffu)
#define TRN_MSG_SIZE(h)			((h) >> 16)
#define TRN_MSG_HEADER(seq, cmd, size)	((seq) | (cmd) << 8 | (unsigned int)(size) << 16)
#define TRN_MSG_REQUEST_HDR_SIZE	8u
#define TRN_MSG_RESPONSE_HDR_SIZE	4u	/* in host memory */
#define TRN_MSG_RAM_RESPONSE_HDR_SIZE	8u	/* in MISC RAM: with a CRC */
#define TRN_MSG_MAX_SIZE		65535u
#define TRN_MSG_MAX_READ_REGS		100u

#define TRN_MSG_CMD_READ_REGS		1
#define TRN_MSG_CMD_POST_METRIC		2
#define TRN_MSG_CMD_SET_POWER_PROFILE	3
#define TRN_MSG_CMD_GET_DATA		4
#define  TRN_MSG_DATA_PROFILE		1
#define  TRN_MSG_DATA_PROFILES		2
#define  TRN_MSG_DATA_BAR_INFO		0x10
#define TRN_MSG_CMD_SET_FEATURE		5
#define  TRN_MSG_FEATURE_THROTTLE	(1u << 0)

#define TRN_MSG_OK			0
#define TRN_MSG_FAILED			1
#define TRN_MSG_UNKNOWN			2

#endif
