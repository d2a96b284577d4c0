/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * State of a Trainium device, and what the parts of the driver call of each
 * other. Lock order, outermost first:
 *
 *   groups and self-tests of the fabric (mutexes), see trainium_fabric.h
 *   trn_device.bos_lock (mutex)    lists of buffers
 *   dma_resv of a shared buffer (ww_mutex)  whoever uses it
 *   trn_device.reset_lock (rwsem)  queues run under read, a reset is the writer;
 *                                  small jobs: see trn_device_hold()
 *   trn_fabric.lock (mutex)        registers of the fabric
 *   trn_device.queues_lock (mutex) list of queues
 *   trn_queue.lock (mutex)         the rings of a queue, its list of jobs
 *   trn_engine.lock (mutex)        registers of an engine, who owns its rings
 *   trn_hbm.lock (mutex)           allocator of a stack
 *   trn_device.fw_lock (mutex)     the firmware's mailbox and reset request
 *   trn_engine.irq_lock (spinlock, irq-safe)   handler against ring teardown
 *   trn_fence_ctx.lock (spinlock, irq-safe)  fences and counters of a queue
 *   trn_engine.busy_lock (spinlock, irq-safe)  its time with work
 *   trn_device.events_lock (spinlock, irq-safe)  subscriptions and their records
 *
 * Fences are signalled under those from reset_lock to trn_engine.lock. So while
 * one of them is held no memory is allocated with GFP_KERNEL (bring what is
 * needed), and user memory is not touched, not even through copy_from_user(): it
 * may sleep for as long as the owner of that memory likes.
 */
#ifndef TRAINIUM_DEVICE_H
#define TRAINIUM_DEVICE_H

#include <linux/dma-fence.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/rwsem.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include <drm/drm_device.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_mm.h>

#include "../uapi/drm/trainium_accel.h"
#include "regs/addr.h"
#include "regs/misc.h"
#include "regs/udma.h"
#include "regs/udma_desc.h"

#define TRN_MAX_STACKS 8
#define TRN_MAX_ENGINES 256
#define TRN_MAX_DIES 4

struct dmem_cgroup_region;
struct trn_device;
struct trn_dump;			/* trainium_coredump.c */
struct trn_engine;
struct trn_fabric;			/* trainium_fabric.h */
struct trn_file;			/* trainium_queue.h */
struct trn_queue;
struct trn_reports;			/* trainium_report.c */
struct trn_ring;			/* trainium_ring.h */

/* A part of BAR0 that is mapped; the whole BAR would be 4 GiB of mappings. */
struct trn_window {
	u32 offset;
	u32 size;
};

/**
 * struct trn_udma_cfg - how the engines of a generation are initialised
 * @m2s_data_cfg: data FIFO of the read side
 * @m2s_ostand: outstanding accesses of the read side
 * @s2m_ostand_rd: outstanding descriptor reads and stream acks of the write side
 * @s2m_ostand_wr_2: outstanding data writes, where the field for it is elsewhere; 0: it is not
 * @sdma_beats: outstanding beats of the wrapper, 0 where there is no such register
 * @broadcast: data engines have broadcast groups to set up
 * @axi_errors: errors on the AXI have to be switched on
 */
struct trn_udma_cfg {
	u32 m2s_data_cfg;
	u32 m2s_ostand;
	u32 s2m_ostand_rd;
	u32 s2m_ostand_wr_2;
	u32 sdma_beats;
	bool broadcast;
	bool axi_errors;
};

/* Chips of a torus */
#define TRN_TORUS_SIZE 16

/**
 * struct trn_hw - what differs between generations (trainium_hw.c)
 * @name: "trainium2"
 * @generation: 1 to 4
 * @num_engines: data engines, then host engines
 * @num_data_engines: of these, the data engines
 * @num_cores: NeuronCores
 * @num_stacks: HBM stacks
 * @num_dies: dies
 * @hbm_size: bytes of a stack on silicon (the extension may say less)
 * @hbm_window: address space of a stack, bytes
 * @hbm_axi: AXI base of each stack
 * @host_window: AXI base of host memory
 * @host_bits: width of a host address in that window, the DMA mask
 * @misc_offset: MISC RAM in BAR0
 * @windows: parts of BAR0 that the driver uses
 * @num_windows: number of them
 * @regs_size: bytes BAR0 has to have
 * @engines_per_se: data engines of an engine group, 0 where there are none (Trainium1)
 * @io_stride: from the APB of an IO die to the next one in BAR0
 * @se_base: APB of the first engine group in BAR0
 * @all_reach_host: there are no engines that do not reach host memory
 * @reset_dma_shift: engines of core 0 in the firmware's reset map
 * @reset_top_sp_shift: TOP_SPs of core 0 there
 * @reset_top_sps: bits that the TOP_SPs of a core have there
 * @torus: vendor's device number by routing id, NULL where it is the same
 * @udma: how engines are initialised
 */
struct trn_hw {
	const char *name;
	unsigned int generation;
	unsigned int num_engines;
	unsigned int num_data_engines;
	unsigned int num_cores;
	unsigned int num_stacks;
	unsigned int num_dies;
	u64 hbm_size;
	u64 hbm_window;
	u64 hbm_axi[TRN_MAX_STACKS];
	u64 host_window;
	unsigned int host_bits;
	u32 misc_offset;
	const struct trn_window *windows;
	unsigned int num_windows;
	u64 regs_size;
	unsigned int engines_per_se;
	u32 io_stride;
	u32 se_base;
	bool all_reach_host;
	/** @sequencer_engines: of a core's 16, those with the pair of the sequencers */
	u32 sequencer_engines;
	unsigned int reset_dma_shift;
	unsigned int reset_top_sp_shift;
	unsigned int reset_top_sps;
	const u8 *torus;
	const struct trn_udma_cfg *udma;
};

extern const struct trn_hw trn_hw_trainium1;
extern const struct trn_hw trn_hw_trainium2;
extern const struct trn_hw trn_hw_trainium3;
extern const struct trn_hw trn_hw_trainium4;

/**
 * struct trn_engine - one UDMA engine
 */
struct trn_engine {
	struct trn_device *tdev;
	/** @id: number in the chip, data engines first */
	unsigned int id;
	/** @regs: UDMA block; touched under drm_dev_enter() only */
	void __iomem *regs;
	/** @sdma: SDMA wrapper */
	void __iomem *sdma;
	/** @fis: FIS block, NULL for a host engine */
	void __iomem *fis;
	/** @lock: register sequences of the engine, @rings_used */
	struct mutex lock;
	/** @rings_used: bit q: queue pair q is taken */
	u32 rings_used;
	/** @rings_reserved: bit q: it is not for queues */
	u32 rings_reserved;
	/** @hung: queue pairs to bring back; trn_device.reset_lock for write */
	u32 hung;
	/** @doubt: those that only a device reset may have brought back; as @hung */
	u32 doubt;
	/** @out_of_service: and that has not helped; written with the device down */
	bool out_of_service;
	/**
	 * @irq_lock: protects @ring. The interrupt handler calls the owner of
	 * a ring under it, so a ring that was taken out is not in use by a
	 * handler any more.
	 */
	spinlock_t irq_lock;
	/** @ring: rings in use, by queue pair */
	struct trn_ring *ring[TRN_QUEUES_PER_ENGINE];
	/** @bytes: moved since probe; counted by the submit path */
	atomic64_t bytes;
	/** @resets: times the engine was reset to recover it */
	atomic64_t resets;
	/** @busy_lock: innermost, irq-safe: the three below */
	spinlock_t busy_lock;
	/** @busy_rings: rings on which a queue has work */
	unsigned int busy_rings;
	/** @busy_since: since when there is one */
	u64 busy_since;
	/** @busy_ns: time with one, without what goes on */
	u64 busy_ns;
};

/**
 * struct trn_vector - one interrupt vector (trainium_irq.c)
 */
struct trn_vector {
	struct trn_device *tdev;
	unsigned int index;
	/** @pending: this vector's part of trn_device.pending */
	void *pending;
	char name[32];
};

/**
 * struct trn_hbm - allocator of one stack (trainium_hbm.c)
 */
struct trn_hbm {
	struct dmem_cgroup_region *region;
	struct mutex lock;		/* everything below */
	struct drm_mm mm;
	u64 size;
	u64 free;
	u32 bo_count;
};

struct trn_device {
	struct drm_device drm;
	struct pci_dev *pdev;
	const struct trn_hw *hw;

	void __iomem **windows;		/* BAR0, one for each hw->windows */
	void __iomem *misc;		/* MISC RAM, in one of them */
	void __iomem *ext;		/* BAR2 with our extension, or NULL */
	u32 ext_features;
	resource_size_t hbm_phys;	/* BAR4, 0 if not there */
	resource_size_t hbm_phys_size;
	u64 hbm_pitch;			/* from stack to stack in BAR4 */
	u64 hbm_stack_size;

	/* firmware, read once at probe (trainium_fw.c) */
	u32 fw_api_version, fw_build, routing_id;
	u64 serial;
	bool routing_id_claimed;
	struct mutex fw_lock;		/* one request of the firmware at a time */

	struct trn_engine *engines;
	struct trn_ring *test_ring;	/* proves that an engine works */
	struct mutex test_lock;		/* inside trn_engine.lock */
	struct trn_hbm hbm[TRN_MAX_STACKS];

	/* interrupts (trainium_irq.c) */
	unsigned int num_vectors;	/* 0: polling */
	struct trn_vector *vectors;
	atomic_t next_vector;
	void *pending;			/* area that the device sets bits in */
	dma_addr_t pending_dma;
	size_t pending_size;

	struct trn_fabric *fabric;	/* NULL: none */

	/* reset (trainium_device.c) */
	struct rw_semaphore reset_lock;
	bool held;			/* reset_lock is, for writing */
	bool down;			/* being reset; changes under reset_lock for write */
	wait_queue_head_t up_wait;	/* until it is not */
	atomic64_t reset_count;
	int broken;			/* 0, or the error for jobs: a reset failed or runs */
	bool leaving;			/* unbind or shutdown: nobody waits for firmware */
	struct workqueue_struct *reset_wq;
	struct work_struct reset_work;

	/* reports of failures (trainium_report.c, trainium_coredump.c) */
	struct trn_reports *reports;
	struct trn_dump *dump;

	/* buffers (trainium_gem.c) */
	struct mutex bos_lock;		/* both lists; outside of reservations */
	struct list_head bos;		/* with a mapping for DMA */
	struct list_head exports;	/* HBM with a dma-buf */
	atomic64_t share_count;		/* times that a buffer became a shared one */
	atomic64_t looks;		/* at jobs in flight, see struct trn_bo */

	/* all queues (trainium_queue.c) */
	struct mutex queues_lock;
	struct list_head queues;
	wait_queue_head_t queues_wait;	/* a queue has been torn down */
	struct trn_queue *clear_queue;	/* zeroes HBM */
	void *zeroes;			/* TRN_PATTERN_SIZE bytes */
	dma_addr_t zeroes_dma;
	struct workqueue_struct *wq;	/* completion, dependencies, teardown */
	struct trn_replay *replay;	/* a ring's worth, for recovery; reset_lock */

	/* events (trainium_events.c) */
	spinlock_t events_lock;
	struct list_head subscriptions;
	u64 events_posted;
	bool events_gone;		/* the last event was posted */

	/* telemetry (trainium_telemetry.c), touched by its work only */
	struct delayed_work telemetry_work;
	struct drm_trainium_query_telemetry telemetry;
	bool telemetry_known;

	/* recovery of engines (trainium_recover.c), on reset_wq */
	struct work_struct recover_work;
	DECLARE_BITMAP(recover_engines, TRN_MAX_ENGINES);
};

static inline struct trn_device *to_trn_device(struct drm_device *drm)
{
	return container_of(drm, struct trn_device, drm);
}

/* trainium_hw.c */
u32 trn_hw_engine_regs(const struct trn_hw *hw, unsigned int engine);
u32 trn_hw_engine_sdma(const struct trn_hw *hw, unsigned int engine);
u64 trn_hw_engine_sdma_axi(const struct trn_hw *hw, unsigned int engine);
u32 trn_hw_engine_fis(const struct trn_hw *hw, unsigned int engine);
u32 trn_hw_pe(const struct trn_hw *hw, unsigned int core);
unsigned int trn_hw_engine_stack(const struct trn_hw *hw, unsigned int engine);
unsigned int trn_hw_engine_core(const struct trn_hw *hw, unsigned int engine);
u32 trn_hw_engine_reserved(const struct trn_hw *hw, unsigned int engine);
bool trn_hw_engine_has_host(const struct trn_hw *hw, unsigned int engine);
u64 trn_hw_core_map(const struct trn_hw *hw, unsigned int core);
u64 trn_hw_engine_bit(const struct trn_hw *hw, unsigned int engine);
unsigned int trn_hw_device_index(const struct trn_hw *hw, unsigned int routing_id);

/* trainium_device.c */
int trn_device_init(struct trn_device *tdev, int vectors);
int trn_device_own_wq(struct trn_device *tdev, struct workqueue_struct *wq);
void trn_device_fini(struct trn_device *tdev);
void trn_device_unplug(struct trn_device *tdev);
int trn_device_wait_up(struct trn_device *tdev);
void trn_device_lock(struct trn_device *tdev);
bool trn_device_try_hold(struct trn_device *tdev);
void trn_device_hold(struct trn_device *tdev);
void trn_device_release(struct trn_device *tdev);
int trn_device_reset(struct trn_device *tdev, u32 cause, const char *why);
void trn_device_schedule_reset(struct trn_device *tdev);
extern const struct pci_error_handlers trn_pci_error_handlers;
extern const struct dev_pm_ops trn_pm_ops;

/* trainium_service.c */
int trn_device_test(struct trn_device *tdev, u32 cause);

/* trainium_rebar.c: before the device is enabled */
void trn_rebar(struct trn_device *tdev);

/* trainium_fw.c */
int trn_fw_wait_boot(struct trn_device *tdev);
int trn_fw_wait_ready(struct trn_device *tdev);
int trn_fw_request_reset(struct trn_device *tdev, u32 kind, u64 map, bool boots);
u32 trn_fw_read(struct trn_device *tdev, u32 offset);

/* True when the device does not answer any more (surprise removal). */
bool trn_device_gone(struct trn_device *tdev);
/* Registers at an offset of BAR0, NULL when no window holds them. */
void __iomem *trn_device_regs(struct trn_device *tdev, u32 offset, u32 size);

/* An address of the DMA API as the engines see it. */
static inline u64 trn_host_axi(const struct trn_device *tdev, dma_addr_t addr)
{
	return addr | tdev->hw->host_window;
}

/* trainium_udma.c; rings: trainium_ring.h */
int trn_udma_init(struct trn_device *tdev);
void trn_udma_quiesce(struct trn_device *tdev);
void trn_udma_init_engine(struct trn_engine *engine);
bool trn_engine_aborted(struct trn_engine *engine, u64 *cause);
u32 trn_engine_guilty(struct trn_engine *engine);
int trn_engine_test(struct trn_engine *engine, u32 pairs);
int trn_engine_recover(struct trn_engine *engine);
int trn_core_reset(struct trn_device *tdev, unsigned int core);

/* trainium_irq.c */
int trn_irq_init(struct trn_device *tdev, int max);
void trn_irq_fini(struct trn_device *tdev);
void trn_irq_quiesce(struct trn_device *tdev);
void trn_irq_restore(struct trn_device *tdev);
void trn_irq_init_engine(struct trn_engine *engine);
void trn_irq_route_ring(struct trn_ring *ring);
void trn_irq_enable_ring(struct trn_ring *ring);
void trn_irq_disable_ring(struct trn_ring *ring);

/* trainium_debugfs.c, trainium_sysfs.c */
void trn_debugfs_init(struct trn_device *tdev);
extern const struct attribute_group *trn_sysfs_groups[];

/* trainium_holders.c */
int trn_holder_query(struct drm_file *reader, u32 index, struct drm_trainium_query_holder *h);

/* trainium_busy.c */
void trn_engine_busy_init(struct trn_engine *engine);
void trn_engine_busy(struct trn_engine *engine, bool busy, u64 now);
void trn_engine_busy_add(struct trn_engine *engine, u64 ns);
u64 trn_engine_busy_ns(struct trn_engine *engine);
int trn_core_query(struct trn_device *tdev, u32 index, struct drm_trainium_query_core *c);

/* trainium_telemetry.c, trainium_hwmon.c */
int trn_telemetry_read(struct trn_device *tdev, struct drm_trainium_query_telemetry *t);
void trn_telemetry_init(struct trn_device *tdev);
void trn_telemetry_start(struct trn_device *tdev);
void trn_telemetry_event(struct trn_device *tdev);
void trn_telemetry_fini(struct trn_device *tdev);
#if IS_ENABLED(CONFIG_HWMON)
void trn_hwmon_init(struct trn_device *tdev);
#else
static inline void trn_hwmon_init(struct trn_device *tdev)
{
}
#endif

/* trainium_report.c */
int trn_reports_init(struct trn_device *tdev);
void trn_reports_fini(struct trn_device *tdev);
void trn_report_reset(struct trn_device *tdev, u32 scope, u32 index, u32 cause, int error,
		      ktime_t begin);
void trn_report_fault(const struct trn_ring *ring, u32 queue, u64 seqno, u32 reason, u64 cause);

/* trainium_coredump.c */
int trn_dump_init(struct trn_device *tdev);
void trn_dump_fini(struct trn_device *tdev);
void trn_dump_take(const struct trn_ring *ring, u32 queue, u64 seqno, u32 reason);

/* trainium_events.c */
void trn_events_init(struct trn_device *tdev);
void trn_events_gone(struct trn_device *tdev);
void trn_events_file_close(struct trn_file *tfile);
u64 trn_event_types(void);
void trn_event_post(struct trn_device *tdev, struct drm_trainium_event *event);
void trn_event_reset(struct trn_device *tdev, u32 scope, u32 index, u32 cause, int error,
		     ktime_t begin);

/* trainium_hbm.c, trainium_gem.c */
int trn_hbm_init(struct trn_device *tdev);
int trn_gem_init(struct trn_device *tdev);
/* Unmaps all buffers; the engines are stopped, the device is unplugged. */
void trn_gem_fini(struct trn_device *tdev);
/* trainium_dmabuf.c */
struct drm_gem_object *trn_gem_prime_import(struct drm_device *drm, struct dma_buf *dma_buf);
/* Can memory of the device be given to other devices at all? */
bool trn_device_has_p2p(const struct trn_device *tdev);

/*
 * trainium_queue.c: called by the interrupt handler and by recovery.
 *
 * trn_queue_ring_done() and trn_queue_engine_error() run in hard interrupt
 * context, the first under trn_engine.irq_lock. trn_queue_ring_lost() runs
 * under trn_engine.lock for every ring of an engine that was reset: the ring
 * is stopped and what was in it is lost; the owner fails or repeats its jobs
 * and calls trn_ring_reset() from a context that may take the queue's lock.
 * None of them may take a queue's lock themselves.
 */
void trn_queue_ring_done(struct trn_ring *ring);
void trn_queue_engine_error(struct trn_engine *engine);
void trn_queue_ring_lost(struct trn_ring *ring);
/* Before there are interrupts */
int trn_queues_prepare(struct trn_device *tdev);
/* After the engines work; before any file can be opened. */
int trn_queues_init(struct trn_device *tdev);
/* At unbind, after drm_dev_unplug() and trn_queues_stop(). Sleeps. */
void trn_queues_fini(struct trn_device *tdev);
/*
 * Under reset_lock for write. stop: all jobs fail with @err, -ECANCELED or
 * -ENODEV, and all waiters wake; memory stays until the engines are known to
 * be stopped. restart: the engines work again; rings are started anew.
 */
void trn_queues_stop(struct trn_device *tdev, int err);
void trn_queues_restart(struct trn_device *tdev);
/* Under reset_lock for write, after trn_queue_ring_lost() was called. */
void trn_queues_recover(struct trn_device *tdev);
int trn_file_open(struct drm_device *drm, struct drm_file *file);
void trn_file_close(struct drm_device *drm, struct drm_file *file);
void trn_show_fdinfo(struct drm_printer *p, struct drm_file *file);

int trn_ioctl_query(struct drm_device *drm, void *data, struct drm_file *file);
int trn_ioctl_bo_create(struct drm_device *drm, void *data, struct drm_file *file);
int trn_ioctl_bo_info(struct drm_device *drm, void *data, struct drm_file *file);
int trn_ioctl_queue_create(struct drm_device *drm, void *data, struct drm_file *file);
int trn_ioctl_queue_destroy(struct drm_device *drm, void *data, struct drm_file *file);
int trn_ioctl_submit(struct drm_device *drm, void *data, struct drm_file *file);
int trn_ioctl_list_create(struct drm_device *drm, void *data, struct drm_file *file);
int trn_ioctl_list_submit(struct drm_device *drm, void *data, struct drm_file *file);
int trn_ioctl_reset(struct drm_device *drm, void *data, struct drm_file *file);
int trn_ioctl_events(struct drm_device *drm, void *data, struct drm_file *file);

#endif
