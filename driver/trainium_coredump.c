// SPDX-License-Identifier: GPL-2.0-only
/*
 * What an engine looked like when it failed a job, as a device coredump:
 * registers, the ring around the descriptor where it stopped, decoded, and the
 * words of the firmware. Taken before recovery changes any of it, into memory
 * that was put aside at probe; written out as text by a worker, since that
 * allocates memory. One at a time: what fails meanwhile is only counted.
 */
#include <linux/devcoredump.h>
#include <linux/io.h>
#include <linux/slab.h>
#include <linux/utsname.h>
#include <linux/vmalloc.h>

#include <drm/drm_drv.h>
#include <drm/drm_managed.h>
#include <drm/drm_print.h>

#include "regs/iofic.h"
#include "trainium_ring.h"

/* Descriptors before the one where the engine stopped, and from it on */
#define TRN_DUMP_BEFORE		8u
#define TRN_DUMP_DESCS		40u
#define TRN_DUMP_TEXT		SZ_64K

struct trn_dump_reg {
	const char *name;
	u32 offset;
};

#define TRN_SEC(g)	TRN_IOFIC_SECONDARY(TRN_IOFIC_##g)
#define TRN_PRI(g)	TRN_IOFIC_PRIMARY(TRN_IOFIC_##g)

static const struct trn_dump_reg trn_engine_regs[] = {
	{ "m2s-state", TRN_UDMA_M2S_STATE },
	{ "s2m-state", TRN_UDMA_S2M_STATE },
	{ "m2s-errors", TRN_SEC(A) + TRN_IOFIC_CAUSE },
	{ "s2m-errors", TRN_SEC(B) + TRN_IOFIC_CAUSE },
	{ "fifo-errors", TRN_SEC(C) + TRN_IOFIC_CAUSE },
	{ "m2s-mask", TRN_SEC(A) + TRN_IOFIC_MASK },
	{ "s2m-mask", TRN_SEC(B) + TRN_IOFIC_MASK },
	{ "m2s-abort-mask", TRN_SEC(A) + TRN_IOFIC_ABORT_MASK },
	{ "s2m-abort-mask", TRN_SEC(B) + TRN_IOFIC_ABORT_MASK },
	{ "primary-b", TRN_PRI(B) + TRN_IOFIC_CAUSE },
	{ "primary-d", TRN_PRI(D) + TRN_IOFIC_CAUSE },
	{ "m2s-cfg-len", TRN_UDMA_M2S_CFG_LEN },
	{ "m2s-stream", TRN_UDMA_M2S_STREAM_CFG },
	{ "s2m-stream", TRN_UDMA_S2M_STREAM_CFG },
	{ "axi-timeout", TRN_UDMA_AXI_TIMEOUT },
};

/* Of a queue pair, relative to each of its sides */
static const struct trn_dump_reg trn_ring_regs[] = {
	{ "cfg", TRN_UDMA_Q_CFG },
	{ "status", TRN_UDMA_Q_STATUS },
	{ "base-low", TRN_UDMA_Q_BASE_LO },
	{ "base-high", TRN_UDMA_Q_BASE_HI },
	{ "length", TRN_UDMA_Q_LEN },
	{ "head", TRN_UDMA_Q_HEAD },
	{ "tail", TRN_UDMA_Q_TAIL },
	{ "current", TRN_UDMA_Q_CURRENT },
	{ "completion-head", TRN_UDMA_Q_COMP_HEAD },
};

static const struct trn_dump_reg trn_firmware_words[] = {
	{ "api-version", TRN_MISC_API_VERSION },
	{ "health", TRN_MISC_HEALTH },
	{ "health-sequence", TRN_MISC_HEALTH_SEQ },
	{ "hbm0-ecc", TRN_MISC_HBM_ECC(0) },
	{ "hbm1-ecc", TRN_MISC_HBM_ECC(1) },
	{ "hbm2-ecc", TRN_MISC_HBM_ECC(2) },
	{ "hbm3-ecc", TRN_MISC_HBM_ECC(3) },
	{ "build", TRN_MISC_FW_BUILD },
	{ "reset", TRN_MISC_RESET },
	{ "status", TRN_MISC_STATUS },
};

struct trn_dump {
	struct trn_device *tdev;
	struct work_struct work;
	/** @busy: taken and not yet written out */
	atomic_t busy;
	/** @missed: failures while it was */
	atomic_t missed;

	time64_t when;
	u32 queue, engine, pair, reason, not_dumped;
	u64 seqno, done, marker;
	u32 head, rung, slots;
	u32 engine_regs[ARRAY_SIZE(trn_engine_regs)];
	u32 m2s_regs[ARRAY_SIZE(trn_ring_regs)];
	u32 s2m_regs[ARRAY_SIZE(trn_ring_regs)];
	u32 firmware[ARRAY_SIZE(trn_firmware_words)];
	/** @at: slot where the engine stopped; @first: of @m2s and @s2m */
	u32 at, first;
	struct trn_desc m2s[TRN_DUMP_DESCS], s2m[TRN_DUMP_DESCS];
	u64 marker_axi, done_axi;
};

static void trn_dump_ring(struct trn_dump *d, const struct trn_ring *ring)
{
	void __iomem *regs = ring->engine->regs;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(trn_ring_regs); i++) {
		d->m2s_regs[i] = readl(regs + TRN_UDMA_M2S_Q(ring->index) +
				       trn_ring_regs[i].offset);
		d->s2m_regs[i] = readl(regs + TRN_UDMA_S2M_Q(ring->index) +
				       trn_ring_regs[i].offset);
	}
	d->pair = ring->index;
	d->done = trn_ring_done(ring);
	d->marker = ring->last;
	d->head = ring->head;
	d->rung = ring->rung;
	d->slots = ring->mask + 1;
	d->marker_axi = ring->marker_axi;
	d->done_axi = ring->done_axi;

	/* The device says where it stands: not believed beyond the ring */
	d->at = readl(regs + TRN_UDMA_M2S_Q(ring->index) + TRN_UDMA_Q_HEAD) & ring->mask;
	d->first = (d->at - TRN_DUMP_BEFORE) & ring->mask;
	for (i = 0; i < TRN_DUMP_DESCS; i++) {
		d->m2s[i] = ring->m2s[(d->first + i) & ring->mask];
		d->s2m[i] = ring->s2m[(d->first + i) & ring->mask];
	}
}

/**
 * trn_dump_take - keep what a failed job left on its engine
 * @ring: where it stands; the lock of its queue is held
 * @queue: id of the queue, 0 for the driver's own
 * @seqno: the job
 * @reason: enum drm_trainium_reason
 */
void trn_dump_take(const struct trn_ring *ring, u32 queue, u64 seqno, u32 reason)
{
	struct trn_device *tdev = ring->engine->tdev;
	struct trn_dump *d = tdev->dump;
	unsigned int i;
	int idx;

	if (atomic_cmpxchg(&d->busy, 0, 1)) {
		atomic_inc(&d->missed);
		return;
	}
	if (!drm_dev_enter(&tdev->drm, &idx)) {
		atomic_set(&d->busy, 0);
		return;
	}
	d->when = ktime_get_real_seconds();
	d->not_dumped = atomic_xchg(&d->missed, 0);
	d->queue = queue;
	d->seqno = seqno;
	d->reason = reason;
	d->engine = ring->engine->id;
	for (i = 0; i < ARRAY_SIZE(trn_engine_regs); i++)
		d->engine_regs[i] = readl(ring->engine->regs + trn_engine_regs[i].offset);
	for (i = 0; i < ARRAY_SIZE(trn_firmware_words); i++)
		d->firmware[i] = trn_fw_read(tdev, trn_firmware_words[i].offset);
	trn_dump_ring(d, ring);
	queue_work(system_unbound_wq, &d->work);
	drm_dev_exit(idx);
}

static void trn_dump_address(struct drm_printer *p, const struct trn_dump *d, u64 addr)
{
	const struct trn_hw *hw = d->tdev->hw;
	unsigned int i;

	for (i = 0; i < hw->num_stacks; i++) {
		if (addr - hw->hbm_axi[i] < hw->hbm_window) {
			drm_printf(p, "hbm%u+%#llx", i, addr - hw->hbm_axi[i]);
			return;
		}
	}
	if (addr == d->done_axi)
		drm_puts(p, "done");
	else if (addr - d->marker_axi < d->slots * sizeof(u64))
		drm_printf(p, "marker[%llu]", (addr - d->marker_axi) / sizeof(u64));
	else if (addr & hw->host_window)
		drm_printf(p, "host+%#llx", addr & ~hw->host_window);
	else
		drm_printf(p, "%#llx", addr);
}

/* "12: 65536 bytes hbm0+0x1000 -> host+0x2000 first last interrupt" */
static void trn_dump_descriptor(struct drm_printer *p, const struct trn_dump *d, u32 slot,
				const struct trn_desc *m2s, const struct trn_desc *s2m)
{
	static const struct {
		u32 bit;
		const char *name;
	} flags[] = {
		{ TRN_M2S_FIRST, " first" }, { TRN_M2S_LAST, " last" },
		{ TRN_M2S_DMB, " dmb" }, { TRN_M2S_META, " meta" },
	};
	u64 ctrl = le64_to_cpu(m2s->ctrl);
	u32 word0 = lower_32_bits(ctrl), s2m_word0 = lower_32_bits(le64_to_cpu(s2m->ctrl));
	unsigned int i;

	drm_printf(p, "%c %5u: %5u bytes ", slot == d->at ? '>' : ' ', slot,
		   word0 & TRN_DESC_LEN_MASK ?: TRN_DESC_MAX_LEN);
	trn_dump_address(p, d, le64_to_cpu(m2s->addr));
	drm_puts(p, " -> ");
	trn_dump_address(p, d, le64_to_cpu(s2m->addr));
	drm_printf(p, " id %u/%u", (word0 & TRN_DESC_RING_ID_MASK) >> TRN_DESC_RING_ID_SHIFT,
		   (s2m_word0 & TRN_DESC_RING_ID_MASK) >> TRN_DESC_RING_ID_SHIFT);
	for (i = 0; i < ARRAY_SIZE(flags); i++)
		if (word0 & flags[i].bit)
			drm_puts(p, flags[i].name);
	if (upper_32_bits(ctrl) & TRN_META_WRITE_BARRIER)
		drm_puts(p, " write-barrier");
	if (s2m_word0 & TRN_S2M_STRONG_ORDER)
		drm_puts(p, " strong-order");
	if ((word0 | s2m_word0) & TRN_DESC_INT)
		drm_puts(p, " interrupt");
	drm_printf(p, " [%016llx %016llx]\n", ctrl, le64_to_cpu(s2m->ctrl));
}

static void trn_dump_regs(struct drm_printer *p, const char *title,
			  const struct trn_dump_reg *regs, const u32 *values, unsigned int n)
{
	unsigned int i;

	drm_printf(p, "\n%s:\n", title);
	for (i = 0; i < n; i++)
		drm_printf(p, "  %-16s 0x%05x = 0x%08x\n", regs[i].name, regs[i].offset,
			   values[i]);
}

static void trn_dump_print(struct drm_printer *p, const struct trn_dump *d)
{
	const struct trn_device *tdev = d->tdev;
	unsigned int i;

	drm_printf(p, "trainium device coredump, version 1\nkernel: %s\ntime: %lld\n",
		   init_utsname()->release, d->when);
	drm_printf(p, "device: %s, %s, routing id %u, serial %016llx, firmware API %u build %#x\n",
		   dev_name(tdev->drm.dev), tdev->hw->name, tdev->routing_id, tdev->serial,
		   tdev->fw_api_version, tdev->fw_build);
	drm_printf(p, "failure: queue %u job %llu %s on engine %u queue pair %u\n", d->queue,
		   d->seqno, d->reason == TRAINIUM_REASON_TIMEOUT ? "timed out" : "aborted",
		   d->engine, d->pair);
	if (d->not_dumped)
		drm_printf(p, "failures not dumped before this one: %u\n", d->not_dumped);
	drm_printf(p, "ring: %u slots, %u written, %u rung, marker %llu, done %llu\n", d->slots,
		   d->head, d->rung, d->marker, d->done);
	trn_dump_regs(p, "engine", trn_engine_regs, d->engine_regs, ARRAY_SIZE(trn_engine_regs));
	trn_dump_regs(p, "m2s queue", trn_ring_regs, d->m2s_regs, ARRAY_SIZE(trn_ring_regs));
	trn_dump_regs(p, "s2m queue", trn_ring_regs, d->s2m_regs, ARRAY_SIZE(trn_ring_regs));
	trn_dump_regs(p, "firmware", trn_firmware_words, d->firmware,
		      ARRAY_SIZE(trn_firmware_words));
	drm_puts(p, "\ndescriptors (> is where the engine stands):\n");
	for (i = 0; i < TRN_DUMP_DESCS; i++)
		trn_dump_descriptor(p, d, (d->first + i) & (d->slots - 1), &d->m2s[i], &d->s2m[i]);
}

static void trn_dump_work(struct work_struct *work)
{
	struct trn_dump *d = container_of(work, struct trn_dump, work);
	struct drm_print_iterator iter = { .remain = TRN_DUMP_TEXT };
	struct drm_printer p;

	iter.data = vmalloc(TRN_DUMP_TEXT);
	if (iter.data) {
		p = drm_coredump_printer(&iter);
		trn_dump_print(&p, d);
		/* Frees the text; drops it when an older one was not read yet. */
		dev_coredumpv(d->tdev->drm.dev, iter.data, TRN_DUMP_TEXT - iter.remain,
			      GFP_KERNEL);
	}
	atomic_set_release(&d->busy, 0);
}

/**
 * trn_dump_init - put memory aside
 * @tdev: device
 *
 * Return: 0 or -ENOMEM.
 */
int trn_dump_init(struct trn_device *tdev)
{
	struct trn_dump *d = drmm_kzalloc(&tdev->drm, sizeof(*d), GFP_KERNEL);

	if (!d)
		return -ENOMEM;
	d->tdev = tdev;
	INIT_WORK(&d->work, trn_dump_work);
	tdev->dump = d;
	return 0;
}

/**
 * trn_dump_fini - no dump is written any more
 * @tdev: device, unplugged
 */
void trn_dump_fini(struct trn_device *tdev)
{
	if (tdev->dump)
		flush_work(&tdev->dump->work);
}
