/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Extension BAR (BAR2): this project's own definition, not the vendor's.
 * It is present when the magic and the version match; see
 * Documentation/hardware/extension.rst. 32-bit accesses; 64-bit registers
 * are a low and a high word, the high word written last takes effect.
 */
#ifndef TRN_REGS_EXT_H
#define TRN_REGS_EXT_H

#define TRN_EXT_SIZE			0x20000u

#define TRN_EXT_MAGIC			0x0000u
#define  TRN_EXT_MAGIC_VALUE		0x584e5254u	/* "TRNX" */
#define TRN_EXT_VERSION			0x0004u		/* 31:16 major, 15:0 minor */
#define  TRN_EXT_VERSION_MAJOR		1u
#define  TRN_EXT_VERSION_MINOR		0u
#define TRN_EXT_FEATURES		0x0008u
#define  TRN_EXT_FEAT_MSIX		(1u << 0)
#define  TRN_EXT_FEAT_CLOCK		(1u << 1)
#define  TRN_EXT_FEAT_FABRIC		(1u << 2)
#define  TRN_EXT_FEAT_FAULT		(1u << 3)
#define  TRN_EXT_FEAT_SENSORS		(1u << 4)
#define  TRN_EXT_FEAT_TIME		(1u << 5)	/* TRN_SDMA_TIME_LO of engines */
#define  TRN_EXT_FEAT_SEMAPHORE	(1u << 6)	/* TRN_META_OP_TYPE_SEMAPHORE */
/* 15:0 engines, 23:16 stacks, 31:24 cores */
#define TRN_EXT_SHAPE			0x000cu
#define TRN_EXT_HBM_SIZE_LO		0x0010u		/* bytes of each stack */
#define TRN_EXT_HBM_SIZE_HI		0x0014u
#define TRN_EXT_NUM_VECTORS		0x0018u

/*
 * Pending area in host memory: TRN_EXT_PENDING_STRIDE bytes a vector. The
 * device sets bits in it with atomic ORs before it sends the message, first
 * the engine's word and then the summary, so a handler that takes the summary
 * with an exchange and then each engine's word loses nothing. Address 0
 * switches the area off (messages are then sent without it). An AXI address
 * with the host bit, as everything the device writes to the host, aligned to
 * the stride; the bits below that are ignored.
 */
#define TRN_EXT_PENDING_LO		0x0020u
#define TRN_EXT_PENDING_HI		0x0024u
#define TRN_EXT_PENDING_STRIDE		0x800u
#define TRN_EXT_PENDING_SUMMARY		0x000u	/* 8 words: bit e = engine e */
#define TRN_EXT_PENDING_ENGINE(e)	(0x040u + (e) * 4u)
#define  TRN_EXT_PENDING_ERROR		(1u << 16)	/* bits 15:0 queues */
#define TRN_EXT_MAX_ENGINES		256u
#define TRN_EXT_SUMMARY_WORDS		8u
/* Stands for the device itself: firmware, health; never a DMA engine */
#define TRN_EXT_ENGINE_DEVICE		255u
#define  TRN_EXT_DEVICE_SLOT_READY	0u	/* boot or reset is over */
#define  TRN_EXT_DEVICE_SLOT_MESSAGE	1u	/* a firmware message was answered */
#define  TRN_EXT_DEVICE_SLOT_HEALTH	2u	/* health, ECC or power changed */
#define  TRN_EXT_DEVICE_SLOT_FABRIC	3u	/* see TRN_FAB_EVENT */

/* Model clock, nanoseconds of modelled time; reading LO latches HI */
#define TRN_EXT_CLOCK_LO		0x0030u
#define TRN_EXT_CLOCK_HI		0x0034u

/*
 * Sensors of the firmware. Temperatures are signed, in thousandths of a degree
 * Celsius: those of the dies, then those of the stacks. Energy is counted since
 * power-on; reading LO latches HI.
 */
#define TRN_EXT_SENSOR_NONE		0x80000000u	/* no reading */
#define TRN_EXT_SENSOR_COUNT		0x0040u		/* 7:0 dies, 15:8 stacks */
#define TRN_EXT_POWER			0x0044u		/* mW */
#define TRN_EXT_POWER_MAX		0x0048u		/* mW: full utilisation */
#define TRN_EXT_ENERGY_LO		0x0050u		/* mJ */
#define TRN_EXT_ENERGY_HI		0x0054u
#define TRN_EXT_THROTTLE		0x0058u		/* basis points, 0: not throttled */
#define TRN_EXT_TEMP_MAX		0x0060u		/* from here on it throttles */
#define TRN_EXT_TEMP_CRIT		0x0064u		/* from here on it may be damaged */
#define TRN_EXT_TEMP(i)			(0x0080u + (i) * 4u)
#define TRN_EXT_MAX_TEMPS		16u

/* Vector of (engine, slot): slots 0..15 queues, 16 errors. Reset value 0. */
#define TRN_EXT_ROUTE			0x4000u
#define TRN_EXT_ROUTE_SLOTS		32u
#define TRN_EXT_ROUTE_SLOT_ERROR	16u
#define TRN_EXT_ROUTE_ENTRY(e, s)	(TRN_EXT_ROUTE + ((e) * TRN_EXT_ROUTE_SLOTS + (s)) * 4u)
#define TRN_EXT_ROUTE_NONE		0xffffffffu	/* no message, no pending bit */

#define TRN_EXT_MSIX_TABLE		0xc000u
#define TRN_EXT_MSIX_PBA		0xd000u
#define TRN_EXT_MAX_VECTORS		64u

/* Fault window, for tests: NAME=VALUE, then its length to GO */
#define TRN_EXT_FAULT			0xe000u
#define TRN_EXT_FAULT_SIZE		0x1000u
#define TRN_EXT_FAULT_TEXT_SIZE		0x100u
#define TRN_EXT_FAULT_GO		0xe100u
#define TRN_EXT_FAULT_STATUS		0xe104u
#define  TRN_EXT_FAULT_DONE		1u
#define  TRN_EXT_FAULT_REFUSED		2u

#define TRN_EXT_FABRIC			0x10000u	/* fabric block: regs/fabric.h */

#endif
