/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * AWS Trainium device model: device state, and what its parts call of each
 * other. Everything runs under the big QEMU lock unless said otherwise.
 *
 *   trainium.c   QOM types, PCI, BARs, properties, reset, migration
 *   generation.c what differs between the generations
 *   axi.c        the one address decoder: BAR0, BAR4 and DMA go through it
 *   rebar.c      BAR4 and its size
 *   host.c       guest memory as the device reaches it
 *   copy.c       memcpy for large copies
 *   hbm.c        backing store of HBM and PREPROC
 *   udma.c       engine registers, queues, state and abort
 *   udma-exec.c  packet execution: descriptors, barriers, order, time
 *   udma-semaphore.c  packets that raise a word in memory, or wait for one
 *   time.c       modelled time
 *   iofic.c      interrupt controllers of an engine
 *   ext.c        BAR2: MSI-X, route table, pending area, model clock
 *   fw.c         MISC RAM, boot, reset handshake
 *   fw-mbox.c    firmware messages
 *   fw-props.c   telemetry and fault properties of the firmware
 *   fault.c      faults on demand: registers, interrupts, removal
 *   fault-dma.c  faults on demand: packets, memory errors, engines that hang
 *   fault-window.c  a way to them for tests in the guest
 *   tpb.c        NeuronCore and TOP_SP windows: SBUF, events, semaphores,
 *                activity counters
 *   notific.c    notification rings
 *   sdma.c       SDMA wrapper and FIS block of an engine
 *   fabric*.c    the fabric between chips: see fabric.h
 *   reduce.c     arithmetic of reductions
 *   bench.c      properties for benchmarks
 *   hmp.c        state of a chip as text: "info pic", engine-state
 */
#ifndef HW_TRAINIUM_H
#define HW_TRAINIUM_H

#include "qemu/osdep.h"
#include "hw/pci/pci_device.h"
#include "hw/pci/pcie_regs.h"
#include "migration/vmstate.h"
#include "qom/object.h"

#include "regs/addr.h"
#include "regs/ext.h"
#include "regs/iofic.h"
#include "regs/misc.h"
#include "regs/pci.h"
#include "regs/tpb.h"
#include "regs/udma.h"
#include "regs/udma_desc.h"

#define TYPE_TRAINIUM "trainium"            /* abstract */
OBJECT_DECLARE_TYPE(TrnDevice, TrnDeviceClass, TRAINIUM)

#define TRN_MAX_ENGINES 256
#define TRN_MAX_STACKS 8
#define TRN_MAX_CORES 8
#define TRN_MAX_TOP_SP 20
#define TRN_MAX_DIES 4

typedef struct TrnEngine TrnEngine;         /* udma.h */
typedef struct TrnExec TrnExec;             /* udma.h */
typedef struct TrnHostRegion TrnHostRegion; /* host.c */
typedef struct TrnFw TrnFw;                 /* fw.h */
typedef struct TrnFault TrnFault;           /* fault.h */
typedef struct TrnFabNode TrnFabNode;       /* fabric.h */

#define TYPE_NEURON_FABRIC "neuron-fabric"
OBJECT_DECLARE_SIMPLE_TYPE(TrnFabric, NEURON_FABRIC)

/* Backing store: shared, lazily committed memory (hbm.c). */
typedef struct TrnStore {
    uint8_t *ptr;
    uint64_t size;
    bool placed;                /* in a range that is not its own */
    int fd;
    unsigned long *dense;       /* bit per 2 MiB: may hold data */
} TrnStore;

/* What is at an address of the chip, besides HBM */
typedef enum TrnPlaceKind {
    TRN_PLACE_PREPROC,
    TRN_PLACE_SBUF,
    TRN_PLACE_CORE_SYNC,
    TRN_PLACE_TOP_SP_SYNC,
    TRN_PLACE_UDMA,
    TRN_PLACE_SDMA,             /* wrapper of an engine, then its NOTIFIC */
    TRN_PLACE_FIS,
    TRN_PLACE_CORE_NOTIFIC,
    TRN_PLACE_TOP_SP_NOTIFIC,
    TRN_PLACE_PE,
    TRN_PLACE_MISC,
    TRN_NUM_PLACE_KINDS,
} TrnPlaceKind;

/* @count of a kind, one every @stride bytes */
typedef struct TrnPlaces {
    TrnPlaceKind kind;
    unsigned first, count;
    uint64_t base, stride;      /* AXI */
} TrnPlaces;

/* One of them; a generation has them sorted */
typedef struct TrnPlace {
    uint64_t base;
    uint32_t size;
    uint16_t kind, index;
} TrnPlace;

/* @count windows of BAR0, one behind the other, to places @stride apart */
typedef struct TrnBarWindow {
    uint64_t offset, axi, size;
    unsigned count;
    uint64_t stride;
} TrnBarWindow;

/* What differs between generations: one const table each (generation.c). */
typedef struct TrnGeneration {
    const char *name, *description;
    unsigned number;
    uint16_t pci_device_id;
    uint16_t pci_device_id_b;   /* another one for the same chip, 0: none */
    unsigned num_engines;       /* all, host engines are the last ones */
    unsigned num_data_engines;
    unsigned num_cores;
    unsigned num_stacks;
    unsigned num_dies;
    unsigned num_preprocs;
    unsigned top_sps_per_die;   /* in the map */
    unsigned used_top_sps_per_die;
    /* Core reset: cores from bit 0 on, engines, TOP_SPs (some a bit) */
    unsigned reset_dma_shift, reset_top_sp_shift, reset_top_sps;
    uint64_t hbm_size;          /* bytes a stack */
    uint64_t bar0_size;
    uint64_t bar4_size, bar4_max;
    bool bar4_resizable;
    unsigned axi_bits;          /* of the map without neighbours */
    uint64_t host_window, host_size;        /* AXI base, bytes */
    unsigned num_neighbours;
    bool all_reach_host;        /* no engine is without host connectivity */
    uint64_t hbm_axi[TRN_MAX_STACKS];
    const TrnPlaces *map;
    unsigned num_map;
    const TrnBarWindow *bar0;
    unsigned num_bar0;
    uint64_t engine_bytes_per_us;   /* modelled rate of one engine */
    uint64_t stack_bytes_per_us;    /* modelled rate of one HBM stack */
    uint64_t packet_ns;             /* modelled latency of a packet */
} TrnGeneration;

/* Notification block: rings of one core, TOP_SP or engine. */
typedef struct TrnNotificRing {
    uint32_t base_lo, base_hi, size, head;
    uint32_t other[6];
    uint32_t wraps;             /* passes ended since the ring was switched on */
    bool lost;                  /* entries were dropped after the last one */
} TrnNotificRing;

typedef struct TrnNotific {
    TrnNotificRing ring[TRN_NOTIFIC_NUM_RINGS];
    uint64_t posted, dropped;
    bool used;                  /* some register was written since the reset */
} TrnNotific;

/* 256 events and 256 semaphores. */
typedef struct TrnSync {
    uint32_t event[TRN_SYNC_COUNT];
    int32_t sem[TRN_SYNC_COUNT];
} TrnSync;

typedef struct TrnCore {
    MemoryRegion sbuf;          /* window to its part of the device's store */
    TrnSync sync;
    TrnNotific notific;
    int64_t pe_epoch_ns;        /* when the activity counters were last 0 */
} TrnCore;

typedef struct TrnTopSp {
    TrnSync sync;
    TrnNotific notific;
} TrnTopSp;

/* Firmware and telemetry properties, and MISC RAM words forced to a value. */
#define TRN_FW_MAX_PROPS 96
#define TRN_FW_MAX_OVERRIDES 16
typedef struct TrnFwProps {
    uint64_t v[TRN_FW_MAX_PROPS];   /* TrnFwProp, fw.h */
    struct {
        uint32_t offset, value;
    } override[TRN_FW_MAX_OVERRIDES];
    unsigned num_overrides;
} TrnFwProps;

struct TrnDeviceClass {
    PCIDeviceClass parent_class;
    const TrnGeneration *gen;
    const TrnPlace *place;
    unsigned num_places;
};

/* Where an AXI address leads. */
typedef enum TrnTargetKind {
    TRN_TARGET_NONE,            /* nothing there: decode error */
    TRN_TARGET_RAM,             /* HBM, SBUF, PREPROC: @ptr */
    TRN_TARGET_HOST,            /* guest memory: @addr is the bus address */
    TRN_TARGET_REG,             /* 32-bit registers: @block, @index, @addr = offset */
    TRN_TARGET_NEIGHBOUR,       /* link @index, @addr = AXI address there */
    TRN_TARGET_GROUP,           /* of the fabric: @addr as in the descriptor */
} TrnTargetKind;

typedef struct TrnBlock {
    const char *name;
    uint32_t (*read)(TrnDevice *d, unsigned index, uint32_t offset);
    void (*write)(TrnDevice *d, unsigned index, uint32_t offset, uint32_t value);
} TrnBlock;

typedef struct TrnTarget {
    TrnTargetKind kind;
    TrnDevice *dev;             /* the chip it is in */
    unsigned index;
    uint64_t len;               /* bytes from here to the end of the target */
    uint8_t *ptr;
    uint64_t addr;
    TrnStore *store;            /* that @ptr points into */
    int stack;                  /* HBM stack, -1 otherwise */
    const TrnBlock *block;
} TrnTarget;

/* When something that one packet passes at a time is free: time.c */
#define TRN_CLOCK_GAPS 16
typedef struct TrnClock {
    uint64_t free_ns;           /* from here on */
    uint64_t rest;              /* of a nanosecond */
    unsigned gaps;
    struct {
        uint64_t start, end;
    } gap[TRN_CLOCK_GAPS];      /* ... and before, in order */
} TrnClock;

struct TrnDevice {
    PCIDevice parent_obj;
    const TrnGeneration *gen;
    const TrnPlace *place;      /* of the class: its map, sorted */
    unsigned num_places;
    const TrnPlace *place_hit;  /* the last one found */

    MemoryRegion bar0, bar2, bar4;
    MemoryRegion hbm_ram, sbuf_ram;             /* all stacks, all cores */
    MemoryRegion hbm_window[TRN_MAX_STACKS];    /* what BAR4 shows of a stack */
    TrnStore hbm[TRN_MAX_STACKS];
    uint8_t *hbm_range;         /* where they are, one behind the other */
    TrnStore preproc;           /* of all engine groups, one after the other */
    TrnStore sbuf;              /* of all cores */
    uint64_t stack_size;        /* bytes a stack, after the properties */

    /* guest memory (host.c) */
    AddressSpace *dma_as;
    MemoryListener dma_listener;
    GArray *host_region;        /* of TrnHostRegion, by address */
    GArray *host_region_next;   /* while the memory map changes */
    unsigned host_region_hit;
    GArray *host_map;           /* of TrnHostMap, until trn_host_release() */
    bool host_iommu, host_iommu_next;

    TrnExec *exec;
    TrnEngine *engine;          /* num_engines of them */
    uint32_t num_engines;
    TrnCore core[TRN_MAX_CORES];
    TrnTopSp top_sp[TRN_MAX_TOP_SP];
    TrnFw *fw;

    /* faults on demand (fault.c) */
    TrnFault *fault;
    bool fault_dma;             /* packets have to be asked about */
    bool fault_window;          /* registers have to be */
    bool hostile;               /* what is read may be wrong */
    bool gone;                  /* removed, on demand (fault.c) or in fact */

    TrnFabNode *fab;            /* place in the fabric; NULL: none */

    /* extension BAR */
    uint64_t pending_addr;
    uint32_t pending_lo_latch;
    uint32_t route[TRN_EXT_MAX_ENGINES * TRN_EXT_ROUTE_SLOTS];
    uint64_t clock_ns;          /* model clock: end of the last accounted work */
    uint64_t stack_bytes[TRN_MAX_STACKS];   /* accounted, without a fabric */
    TrnClock stack_clock[TRN_MAX_STACKS];   /* ... in one */
    uint32_t clock_hi_latch;

    /* properties */
    uint64_t hbm_size;          /* bytes a chip; 0: the generation's */
    uint64_t bar4_size;         /* at reset; 0: the generation's */
    uint16_t pci_device_id;     /* 0: the generation's */
    uint32_t msix_vectors;      /* 0: no MSI-X */
    uint32_t routing_id;        /* UINT32_MAX: next free one */
    uint64_t serial;            /* 0: derived from routing id */
    TrnFabric *fabric;          /* NULL: none */
    uint32_t fabric_id;         /* UINT32_MAX: next free one */
    TrnFwProps fw_props;        /* fw.c owns them, usable before realize */
    uint64_t reorder_seed;      /* 0: in order */
    bool payload;               /* false: large copies in HBM move no data */
    bool ext;                   /* BAR2 present */
    bool bar4_present;
    bool strict_host_access;    /* only engines with host connectivity reach it */
    PCIExpLinkSpeed link_speed;
    PCIExpLinkWidth link_width;
};

/* generation.c */
extern const TrnGeneration trn_trainium1, trn_trainium2, trn_trainium3,
                           trn_trainium4;
TrnPlace *trn_places_new(const TrnGeneration *g, unsigned *num);

/* trainium.c: to the state after power-on, except for PCI */
void trn_cold_reset(TrnDevice *d);

/* axi.c */
/* False when the address leads nowhere (decode error). */
bool trn_axi_resolve(TrnDevice *d, uint64_t addr, TrnTarget *t);
/*
 * Byte access by the device itself (rings, completions, notifications):
 * false when any byte of it leads nowhere. Registers can be read (whole
 * words), not written.
 */
bool trn_axi_read(TrnDevice *d, uint64_t addr, void *buf, uint64_t len);
bool trn_axi_write(TrnDevice *d, uint64_t addr, const void *buf, uint64_t len);
bool trn_axi_init_bars(TrnDevice *d, Error **errp);
void trn_axi_exit_bars(TrnDevice *d);
/* The UDMA register block: DMA never reaches it. */
extern const TrnBlock trn_udma_block;
extern const TrnBlock trn_fw_block;         /* MISC RAM */
extern const TrnBlock trn_sync_block;       /* semaphores and events */

/* rebar.c */
void trn_rebar_init_window(TrnDevice *d);
void trn_rebar_exit_window(TrnDevice *d);
void trn_rebar_init(TrnDevice *d);
void trn_rebar_write_config(TrnDevice *d, uint32_t addr, int len);
void trn_rebar_reset(TrnDevice *d);
bool trn_rebar_post_load(TrnDevice *d);

/* host.c; addresses are bus addresses, as the IOMMU sees them */
bool trn_host_init(TrnDevice *d, Error **errp);
void trn_host_exit(TrnDevice *d);
void trn_host_finalize(TrnDevice *d);
/*
 * Pointer to guest RAM, or NULL: not RAM, no access, bus mastering off. @len
 * is clipped to what is contiguous. Valid until trn_host_release() or until
 * the memory map changes, so no longer than the caller keeps the BQL and
 * touches no other device. After a write: trn_host_dirty(), unless @region is
 * NULL; then the release does it.
 */
uint8_t *trn_host_ptr(TrnDevice *d, uint64_t addr, uint64_t *len, bool write,
                      TrnHostRegion **region);
void trn_host_dirty(TrnHostRegion *region, const uint8_t *ptr, uint64_t len);
void trn_host_release(TrnDevice *d);
/* How much from @addr on is worth asking a pointer for at once */
uint64_t trn_host_window(TrnDevice *d, uint64_t addr);
bool trn_host_read(TrnDevice *d, uint64_t addr, void *buf, uint64_t len);
bool trn_host_write(TrnDevice *d, uint64_t addr, const void *buf, uint64_t len);
/* Calls @fn with an aligned 64-bit word; false when it is not in RAM */
typedef void TrnHostWordFn(uint64_t *word, void *opaque);
bool trn_host_word(TrnDevice *d, uint64_t addr, bool write, TrnHostWordFn *fn,
                   void *opaque);
/* Atomic OR of an aligned little-endian word in RAM */
bool trn_host_or32(TrnDevice *d, uint64_t addr, uint32_t bits);

/* copy.c; areas that do not overlap */
#define TRN_COPY_LARGE (256 * 1024)
void trn_copy_large(uint8_t *dst, const uint8_t *src, uint64_t len);
static inline void trn_copy(uint8_t *dst, const uint8_t *src, uint64_t len)
{
    if (len < TRN_COPY_LARGE) {
        memcpy(dst, src, len);
    } else {
        trn_copy_large(dst, src, len);
    }
}

/* hbm.c */
bool trn_hbm_init(TrnDevice *d, Error **errp);
void trn_hbm_exit(TrnDevice *d);
/* memcpy into and out of a store: holes stay holes where the data is zero */
void trn_store_write(TrnStore *st, uint8_t *dst, const uint8_t *src, uint64_t len);
void trn_store_zero(TrnStore *st, uint8_t *dst, uint64_t len);
bool trn_store_is_hole(TrnStore *st, const uint8_t *src, uint64_t len);
extern const VMStateInfo vmstate_info_trn_store;

/* udma.c, udma-exec.c, iofic.c: see udma.h; the vmstate is of TrnEngine */
void trn_udma_init(TrnDevice *d);
void trn_udma_finalize(TrnDevice *d);
void trn_udma_reset_engine(TrnDevice *d, unsigned engine);  /* as the firmware does */
void trn_udma_reset_all(TrnDevice *d);
uint32_t trn_udma_read(TrnDevice *d, unsigned engine, uint32_t offset);
void trn_udma_write(TrnDevice *d, unsigned engine, uint32_t offset, uint32_t value);
extern const VMStateDescription vmstate_trn_engine;

/* ext.c */
bool trn_ext_init(TrnDevice *d, Error **errp);
void trn_ext_exit(TrnDevice *d);
void trn_ext_reset(TrnDevice *d);
/* An unmasked event of the device: route, set pending bits, send MSI-X. */
void trn_ext_event(TrnDevice *d, unsigned engine, unsigned slot);

/* fw.c; the vmstate is of TrnFw */
bool trn_fw_init(TrnDevice *d, Error **errp);   /* routing id and serial, too */
void trn_fw_exit(TrnDevice *d);
void trn_fw_finalize(TrnDevice *d);
void trn_fw_reset(TrnDevice *d);            /* cold reset: firmware boots again */
uint32_t trn_fw_read(TrnDevice *d, unsigned index, uint32_t offset);
void trn_fw_write(TrnDevice *d, unsigned index, uint32_t offset, uint32_t value);
/* False from the request of a device reset to its end: doorbells are ignored. */
bool trn_fw_device_up(TrnDevice *d);
/* Fault and telemetry properties, of what the generation has */
void trn_fw_class_init(ObjectClass *oc, const TrnGeneration *g);
/* DMA met an error in HBM. */
void trn_fw_count_ecc(TrnDevice *d, unsigned stack, bool uncorrected);
extern const VMStateDescription vmstate_trn_fw;

/* tpb.c */
void trn_tpb_reset(TrnDevice *d);           /* cold reset: SBUF contents, too */
void trn_tpb_reset_core(TrnDevice *d, unsigned core);
void trn_tpb_reset_top_sp(TrnDevice *d, unsigned n);
/* index: core, or TRN_MAX_CORES + TOP_SP; offset inside the sync region */
uint32_t trn_sync_read(TrnDevice *d, unsigned index, uint32_t offset);
void trn_sync_write(TrnDevice *d, unsigned index, uint32_t offset, uint32_t value);
uint32_t trn_pe_read(TrnDevice *d, unsigned core, uint32_t offset);
void trn_pe_write(TrnDevice *d, unsigned core, uint32_t offset, uint32_t value);
extern const VMStateDescription vmstate_trn_core;
extern const VMStateDescription vmstate_trn_top_sp;

/* notific.c; index: core, TRN_MAX_CORES + TOP_SP, or TRN_NOTIFIC_ENGINE + engine */
#define TRN_NOTIFIC_ENGINE 64
uint32_t trn_notific_read(TrnDevice *d, unsigned index, uint32_t offset);
void trn_notific_write(TrnDevice *d, unsigned index, uint32_t offset, uint32_t value);
/*
 * Appends one 16-byte entry (format: notific.c) with type, code, source and
 * word 1 of @entry; the rest is put in here. False when the ring is off or
 * unreachable. Cheap to ask before: _enabled.
 */
bool trn_notific_post(TrnDevice *d, TrnNotific *n, unsigned ring,
                      const uint32_t entry[4]);
static inline bool trn_notific_enabled(const TrnNotific *n, unsigned ring)
{
    return n->used && n->ring[ring].size;
}
void trn_notific_reset(TrnNotific *n);
extern const VMStateDescription vmstate_trn_notific;

/* sdma.c; index: engine */
uint32_t trn_sdma_read(TrnDevice *d, unsigned engine, uint32_t offset);
void trn_sdma_write(TrnDevice *d, unsigned engine, uint32_t offset, uint32_t value);
uint32_t trn_fis_read(TrnDevice *d, unsigned engine, uint32_t offset);
void trn_fis_write(TrnDevice *d, unsigned engine, uint32_t offset, uint32_t value);
/* SDMA wrapper, FIS and NOTIFIC registers of the engine to their reset values */
void trn_sdma_reset_engine(TrnDevice *d, unsigned engine);

/* fabric.c: a chip and its fabric. All do nothing without one. */
bool trn_fabric_attach(TrnDevice *d, Error **errp);     /* routing id, too */
void trn_fabric_detach(TrnDevice *d);
/* @cold: as after power-on */
void trn_fabric_reset(TrnDevice *d, bool cold);
/* The chip went from the bus, or came back. */
void trn_fabric_power(TrnDevice *d);
void trn_fabric_class_init(ObjectClass *oc);

/* bench.c: read-only properties for benchmarks */
void trn_bench_class_init(ObjectClass *oc);

/* hmp.c: "engine-state" property, and what "info pic" prints of a chip */
void trn_hmp_class_init(ObjectClass *oc);

#endif
