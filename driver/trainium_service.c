// SPDX-License-Identifier: GPL-2.0-only
/*
 * Engines that no reset brings back are taken out of service: their rings move
 * to other engines, and nobody is given new ones there. Every later device reset
 * tries them again.
 */
#include <drm/drm_print.h>

#include "trainium_queue.h"

/* So many engines in a row that do not copy are a device that does not work. */
#define TRN_TEST_TRIES		4u

/* Does it copy? Tells of a change. Return: it does. */
static bool trn_engine_try(struct trn_engine *engine, u32 cause)
{
	struct trn_device *tdev = engine->tdev;
	ktime_t begin = ktime_get();
	int ret;

	mutex_lock(&engine->lock);
	ret = trn_engine_test(engine, engine->doubt ?: BIT(0));
	mutex_unlock(&engine->lock);
	if (!ret)
		engine->doubt = 0;
	else if (!engine->doubt)
		engine->doubt = BIT(0);
	if (engine->out_of_service == !!ret)
		return !ret;

	WRITE_ONCE(engine->out_of_service, ret);
	if (ret)
		drm_err(&tdev->drm, "engine %u does not copy after the reset, out of service\n",
			engine->id);
	else
		drm_info(&tdev->drm, "engine %u is in service again\n", engine->id);
	trn_report_reset(tdev, TRAINIUM_RESET_ENGINE, engine->id, cause, ret, begin);
	return !ret;
}

/**
 * trn_device_test - does a device work that was reset?
 * @tdev: device that is down, or not registered yet; its engines are initialised
 * @cause: enum drm_trainium_reset_cause of the reset
 *
 * Registers that look right prove little; a copy proves that it works. One
 * engine that was well before has to copy. Those that nothing has helped before
 * are tried too, and are in service or out of it by the result.
 *
 * Return: 0 or -EIO.
 */
int trn_device_test(struct trn_device *tdev, u32 cause)
{
	unsigned int num = tdev->hw->num_engines, failed = 0, i;
	bool works = false;

	/* Host engines, which are behind the others, first */
	for (i = 0; i < num && failed < TRN_TEST_TRIES; i++) {
		struct trn_engine *engine =
			&tdev->engines[(tdev->hw->num_data_engines + i) % num];

		if (!trn_hw_engine_has_host(tdev->hw, engine->id) || (works && !engine->doubt))
			continue;
		if (trn_engine_try(engine, cause))
			works = true;
		else if (!works)
			failed++;
	}
	return works ? 0 : -EIO;
}

/* Another engine for a ring, as near; the queue uses each one once */
static int trn_queue_move_ring(struct trn_queue *q, struct trn_ring *ring)
{
	struct trn_device *tdev = q->tdev;
	u32 stack = trn_hw_engine_stack(tdev->hw, ring->engine->id);
	DECLARE_BITMAP(not, TRN_MAX_ENGINES) = { };
	struct trn_engine *engine;
	u32 i;

	for (i = 0; i < q->num_rings; i++)
		__set_bit(q->ring[i]->engine->id, not);
	for (;;) {
		engine = trn_choose_engine(tdev, stack, not, NULL);
		if (!engine)
			return -ENOSPC;
		__set_bit(engine->id, not);
		if (!trn_ring_migrate(ring, engine))
			return 0;
	}
}

/**
 * trn_queue_start_rings - start the rings of a queue anew and empty
 * @q: the queue; its lock and reset_lock are held
 *
 * On other engines when theirs are out of service. Without room there the
 * queue takes no jobs until the next device reset.
 */
void trn_queue_start_rings(struct trn_queue *q)
{
	int refuses = 0;
	u32 i;

	lockdep_assert_held(&q->lock);
	for (i = 0; i < q->num_rings; i++) {
		if (q->ring[i]->engine->out_of_service && trn_queue_move_ring(q, q->ring[i])) {
			drm_warn(&q->tdev->drm,
				 "queue %u: no ring is free besides that of engine %u, which is out of service\n",
				 q->id, q->ring[i]->engine->id);
			refuses = -EIO;
			continue;
		}
		trn_ring_reset(q->ring[i]);
		trn_irq_enable_ring(q->ring[i]);
	}
	q->refuses = q->closing ? -ENOENT : refuses;
}
