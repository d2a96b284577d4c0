/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * PCI identity of the Trainium family, and what each BAR holds.
 *
 * Plain C, no kernel and no QEMU types: driver and device model share it.
 */
#ifndef TRN_REGS_PCI_H
#define TRN_REGS_PCI_H

#define TRN_PCI_VENDOR_ID		0x1d0f
#define TRN_PCI_DEVICE_TRAINIUM1	0x7164
#define TRN_PCI_DEVICE_INFERENTIA2	0x7264
#define TRN_PCI_DEVICE_TRAINIUM2	0x7364
#define TRN_PCI_DEVICE_TRAINIUM3	0x7564
#define TRN_PCI_DEVICE_TRAINIUM3_B	0x7565	/* no difference is known */
/* Not published: a placeholder of this project */
#define TRN_PCI_DEVICE_TRAINIUM4	0x7664

/* The class code of the silicon is not public; this is our choice. */
#define TRN_PCI_CLASS			0x1200

/* Revisions 0xff and 0xf0 select the vendor's simulator and emulator. */
#define TRN_PCI_REVISION_SILICON	0x01

#define TRN_BAR_REGS			0	/* 64-bit: register windows */
#define TRN_BAR_EXT			2	/* this project's extension, see ext.h */
#define TRN_BAR_HBM			4	/* 64-bit prefetchable: HBM window */

#endif
