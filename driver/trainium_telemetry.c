// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the firmware tells about the chip's state, and events when it changes.
 *
 * Counters, health and the share of power are words of the MISC RAM; power in
 * watts, energy and temperatures are sensors of the extension BAR, if it is
 * there. The firmware interrupts when something has changed; without
 * interrupts one looks once a second.
 */
#include <linux/io.h>
#include <linux/sysfs.h>

#include <drm/drm_drv.h>

#include "regs/ext.h"
#include "trainium_device.h"

#define TRN_TELEMETRY_POLL	HZ

static_assert(TRAINIUM_MAX_TEMPERATURES == TRN_EXT_MAX_TEMPS);
static_assert(TRN_MAX_DIES + TRN_MAX_STACKS <= TRAINIUM_MAX_TEMPERATURES);

/* Words of the MISC RAM; false while the firmware is not up. */
static bool trn_telemetry_word(struct trn_device *tdev, u32 offset, u32 *word)
{
	*word = trn_fw_read(tdev, offset);
	return *word != TRN_MISC_NOT_READY;
}

static bool trn_telemetry_ecc(struct trn_device *tdev, struct drm_trainium_query_telemetry *t)
{
	bool split = tdev->fw_api_version >= TRN_FW_API_ECC_SPLIT;
	unsigned int i;
	u32 word;

	if (!trn_telemetry_word(tdev, TRN_MISC_SRAM_ECC, &word))
		return false;
	t->sram_ecc_corrected = word >> 16;
	t->sram_ecc_uncorrected = word & 0xffff;

	for (i = 0; i < tdev->hw->num_stacks; i++) {
		if (!trn_telemetry_word(tdev, TRN_MISC_HBM_ECC(i), &word))
			return false;
		t->hbm_ecc_corrected[i] = word >> 16;
		t->hbm_ecc_uncorrected[i] = word & 0xffff;
		if (!split)
			continue;
		/* 15:12 cannot be repaired, 11:0 can */
		t->hbm_ecc_repairable[i] = word & 0xfff;
		t->hbm_ecc_uncorrected[i] = ((word >> 12) & 0xf) + (word & 0xfff);
	}
	if (split)
		t->valid |= TRAINIUM_TELEMETRY_REPAIRABLE;

	if (!trn_telemetry_word(tdev, TRN_MISC_HBM_REPAIR, &word))
		return false;
	t->hbm_repair_state = word & TRN_HBM_REPAIR_MASK;
	return true;
}

static bool trn_telemetry_health(struct trn_device *tdev, struct drm_trainium_query_telemetry *t)
{
	u32 word;

	if (tdev->fw_api_version < TRN_FW_API_ECC_SPLIT)
		return true;
	if (!trn_telemetry_word(tdev, TRN_MISC_HEALTH, &t->health) ||
	    !trn_telemetry_word(tdev, TRN_MISC_HEALTH_SEQ, &word))
		return false;
	t->heartbeat = (word & TRN_HEALTH_HEARTBEAT_MASK) >> TRN_HEALTH_HEARTBEAT_SHIFT;
	t->valid |= TRAINIUM_TELEMETRY_HEALTH;
	return true;
}

static bool trn_telemetry_power(struct trn_device *tdev, struct drm_trainium_query_telemetry *t)
{
	unsigned int i;
	u32 word;

	if (tdev->fw_api_version < TRN_FW_API_POWER)
		return true;
	for (i = 0; i < tdev->hw->num_dies; i++) {
		if (!trn_telemetry_word(tdev, TRN_MISC_POWER(i), &word))
			return false;
		t->power_util[i] = word & TRN_POWER_UTIL_MASK;
	}
	t->valid |= TRAINIUM_TELEMETRY_POWER_UTIL;
	return true;
}

static u64 trn_milli(u32 value)
{
	return value == TRN_EXT_SENSOR_NONE ? 0 : (u64)value * 1000;
}

static void trn_telemetry_sensors(struct trn_device *tdev, struct drm_trainium_query_telemetry *t)
{
	void __iomem *ext = tdev->ext;
	unsigned int i;
	u64 energy;
	u32 word;

	if (!ext || !(tdev->ext_features & TRN_EXT_FEAT_SENSORS))
		return;
	word = readl(ext + TRN_EXT_THROTTLE);
	if (word == TRN_EXT_SENSOR_NONE)
		return;
	t->throttle = word;
	t->power_uw = trn_milli(readl(ext + TRN_EXT_POWER));
	t->power_max_uw = trn_milli(readl(ext + TRN_EXT_POWER_MAX));
	energy = readl(ext + TRN_EXT_ENERGY_LO);
	energy |= (u64)readl(ext + TRN_EXT_ENERGY_HI) << 32;
	t->energy_uj = energy * 1000;

	t->num_dies = tdev->hw->num_dies;
	t->num_stacks = tdev->hw->num_stacks;
	t->temperature_max = readl(ext + TRN_EXT_TEMP_MAX);
	t->temperature_crit = readl(ext + TRN_EXT_TEMP_CRIT);
	for (i = 0; i < t->num_dies + t->num_stacks; i++)
		t->temperature[i] = readl(ext + TRN_EXT_TEMP(i));
	t->valid |= TRAINIUM_TELEMETRY_SENSORS;
}

/**
 * trn_telemetry_read - what the firmware reports about the chip's state
 * @tdev: device
 * @t: filled in
 *
 * Return: 0; -ETIME while the firmware does not answer, -ENODEV when the device
 * is gone.
 */
int trn_telemetry_read(struct trn_device *tdev, struct drm_trainium_query_telemetry *t)
{
	int idx, ret = -ETIME;

	memset(t, 0, sizeof(*t));
	if (!drm_dev_enter(&tdev->drm, &idx))
		return -ENODEV;
	if (trn_device_gone(tdev)) {
		ret = -ENODEV;
	} else if (trn_telemetry_ecc(tdev, t) && trn_telemetry_health(tdev, t) &&
		   trn_telemetry_power(tdev, t)) {
		trn_telemetry_sensors(tdev, t);
		/* It may have gone in the middle: then there were only ones. */
		ret = trn_fw_read(tdev, TRN_MISC_STATUS) == ~0u ? -ENODEV : 0;
	}
	drm_dev_exit(idx);
	return ret;
}

/* Events */

static void trn_ecc_changed(struct trn_device *tdev, u32 stack, u32 kind, u32 before, u32 now)
{
	struct drm_trainium_event event = {
		.type = TRAINIUM_EVENT_ECC,
		.ecc = { .stack = stack, .kind = kind, .count = now, .before = before },
	};

	if (before != now)
		trn_event_post(tdev, &event);
}

static void trn_ecc_compare(struct trn_device *tdev, const struct drm_trainium_query_telemetry *a,
			    const struct drm_trainium_query_telemetry *b)
{
	unsigned int i;

	trn_ecc_changed(tdev, TRAINIUM_ECC_SRAM, TRAINIUM_ECC_CORRECTED,
			a->sram_ecc_corrected, b->sram_ecc_corrected);
	trn_ecc_changed(tdev, TRAINIUM_ECC_SRAM, TRAINIUM_ECC_UNCORRECTED,
			a->sram_ecc_uncorrected, b->sram_ecc_uncorrected);
	for (i = 0; i < tdev->hw->num_stacks; i++) {
		trn_ecc_changed(tdev, i, TRAINIUM_ECC_CORRECTED,
				a->hbm_ecc_corrected[i], b->hbm_ecc_corrected[i]);
		trn_ecc_changed(tdev, i, TRAINIUM_ECC_UNCORRECTED,
				a->hbm_ecc_uncorrected[i] - a->hbm_ecc_repairable[i],
				b->hbm_ecc_uncorrected[i] - b->hbm_ecc_repairable[i]);
		trn_ecc_changed(tdev, i, TRAINIUM_ECC_REPAIRABLE,
				a->hbm_ecc_repairable[i], b->hbm_ecc_repairable[i]);
	}
	trn_ecc_changed(tdev, 0, TRAINIUM_ECC_REPAIR, a->hbm_repair_state, b->hbm_repair_state);
}

static void trn_health_compare(struct trn_device *tdev, u32 before, u32 now)
{
	struct drm_trainium_event event = {
		.type = TRAINIUM_EVENT_HEALTH,
		.health = { .health = now, .before = before },
	};

	if (before == now)
		return;
	trn_event_post(tdev, &event);
	sysfs_notify(&tdev->pdev->dev.kobj, NULL, "health");
}

static void trn_alarm_compare(struct trn_device *tdev, u32 alarm, u32 sensor, s64 limit,
			      s64 before, s64 now)
{
	bool was_on = before >= limit, on = now >= limit;
	struct drm_trainium_event event = {
		.type = TRAINIUM_EVENT_THERMAL,
		.thermal = {
			.alarm = alarm, .sensor = sensor, .on = on,
			.value = now, .limit = limit,
		},
	};

	if (was_on != on)
		trn_event_post(tdev, &event);
}

static void trn_sensors_compare(struct trn_device *tdev,
				const struct drm_trainium_query_telemetry *a,
				const struct drm_trainium_query_telemetry *b)
{
	unsigned int i;

	if (!(b->valid & TRAINIUM_TELEMETRY_SENSORS))
		return;
	trn_alarm_compare(tdev, TRAINIUM_ALARM_THROTTLE, 0, 1, a->throttle, b->throttle);
	for (i = 0; i < b->num_dies + b->num_stacks; i++) {
		trn_alarm_compare(tdev, TRAINIUM_ALARM_TEMP_MAX, i, b->temperature_max,
				  a->temperature[i], b->temperature[i]);
		trn_alarm_compare(tdev, TRAINIUM_ALARM_TEMP_CRIT, i, b->temperature_crit,
				  a->temperature[i], b->temperature[i]);
	}
}

static void trn_telemetry_work(struct work_struct *work)
{
	struct trn_device *tdev = container_of(work, struct trn_device, telemetry_work.work);
	struct drm_trainium_query_telemetry now;
	int ret;

	ret = trn_telemetry_read(tdev, &now);
	if (!ret) {
		if (tdev->telemetry_known) {
			trn_ecc_compare(tdev, &tdev->telemetry, &now);
			trn_health_compare(tdev, tdev->telemetry.health, now.health);
			trn_sensors_compare(tdev, &tdev->telemetry, &now);
		}
		tdev->telemetry = now;
		tdev->telemetry_known = true;
	}
	if (!tdev->num_vectors && ret != -ENODEV)
		schedule_delayed_work(&tdev->telemetry_work, TRN_TELEMETRY_POLL);
}

/**
 * trn_telemetry_event - the firmware says that something has changed
 * @tdev: device; hard interrupt
 */
void trn_telemetry_event(struct trn_device *tdev)
{
	schedule_delayed_work(&tdev->telemetry_work, 0);
}

/**
 * trn_telemetry_start - look for changes from now on
 * @tdev: device
 */
void trn_telemetry_start(struct trn_device *tdev)
{
	schedule_delayed_work(&tdev->telemetry_work, 0);
}

/**
 * trn_telemetry_init - before there can be interrupts
 * @tdev: new device
 */
void trn_telemetry_init(struct trn_device *tdev)
{
	INIT_DELAYED_WORK(&tdev->telemetry_work, trn_telemetry_work);
}

/**
 * trn_telemetry_fini - look no more
 * @tdev: device without interrupts, unplugged or never registered
 */
void trn_telemetry_fini(struct trn_device *tdev)
{
	cancel_delayed_work_sync(&tdev->telemetry_work);
}
