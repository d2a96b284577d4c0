// SPDX-License-Identifier: GPL-2.0-only
/*
 * The management firmware: words of the MISC RAM and the reset handshake. Every
 * word reads as 0xdeadbeef while the firmware is not up.
 */
#include <linux/delay.h>
#include <linux/io.h>
#include <linux/ktime.h>
#include <linux/module.h>

#include <drm/drm_drv.h>
#include <drm/drm_print.h>

#include "trainium_device.h"

static unsigned int fw_timeout_ms = 30000;
module_param(fw_timeout_ms, uint, 0644);
MODULE_PARM_DESC(fw_timeout_ms, "How long the firmware may take to boot, or for a device reset (default: 30000)");

/* A core reset is less work. */
#define TRN_FW_CORE_RESET_PART	3
/* Firmware that runs answers; one that is silent for so long has died. */
#define TRN_FW_ALIVE_MS		1000u

/* Polls start this fine and get slower up to the second value. */
#define TRN_FW_POLL_MIN_US	100
#define TRN_FW_POLL_MAX_US	2000

/**
 * trn_fw_read - read a word of the MISC RAM
 * @tdev: device, under drm_dev_enter()
 * @offset: TRN_MISC_*
 *
 * Return: the word; TRN_MISC_NOT_READY while the firmware is not up, all ones
 * when the device is gone.
 */
u32 trn_fw_read(struct trn_device *tdev, u32 offset)
{
	return readl(tdev->misc + offset);
}

static void trn_fw_write(struct trn_device *tdev, u32 offset, u32 value)
{
	writel(value, tdev->misc + offset);
}

/* Sleeps between two polls, twice as long each time. */
static void trn_fw_poll_sleep(unsigned int *us)
{
	usleep_range(*us, *us + *us / 4);
	*us = min(*us * 2, TRN_FW_POLL_MAX_US);
}

/* What a wait is for */
enum trn_fw_state {
	TRN_FW_ANSWERS,		/* MISC RAM can be read and written */
	TRN_FW_READY,		/* and the status says so */
};

static bool trn_fw_is(enum trn_fw_state state, u32 status, u32 id)
{
	return status != TRN_MISC_NOT_READY && id != TRN_MISC_NOT_READY &&
	       (state == TRN_FW_ANSWERS || !(status & TRN_STATUS_NOT_READY));
}

/* Nobody wants the answer any more, or there is nobody to give it. */
static bool trn_fw_give_up(struct trn_device *tdev)
{
	return READ_ONCE(tdev->leaving) || pci_channel_offline(tdev->pdev);
}

static int trn_fw_wait(struct trn_device *tdev, enum trn_fw_state state,
		       unsigned int timeout_ms)
{
	ktime_t end = ktime_add_ms(ktime_get(), timeout_ms);
	unsigned int us = TRN_FW_POLL_MIN_US;
	bool last = false;

	for (;;) {
		u32 status = trn_fw_read(tdev, TRN_MISC_STATUS);
		u32 id = trn_fw_read(tdev, TRN_MISC_ROUTING_ID);

		if (status == ~0u && id == ~0u) {
			if (last || trn_device_gone(tdev)) {
				drm_err(&tdev->drm,
					"device does not answer: status register %#x = %#010x\n",
					TRN_MISC_STATUS, status);
				return -ENODEV;
			}
		} else if (trn_fw_is(state, status, id)) {
			return 0;
		}
		if (trn_fw_give_up(tdev))
			return -ENODEV;
		if (last) {
			drm_err(&tdev->drm,
				"firmware is not ready after %u ms: status register %#x = %#010x, routing id %#010x\n",
				timeout_ms, TRN_MISC_STATUS, status, id);
			return -ETIMEDOUT;
		}
		/* One more look after the last sleep: it may have been long. */
		last = ktime_after(ktime_get(), end);
		trn_fw_poll_sleep(&us);
	}
}

/**
 * trn_fw_wait_boot - wait for the firmware of a chip that was just powered on
 * @tdev: device
 *
 * Return: 0, -ETIMEDOUT, or -ENODEV when the device does not answer.
 */
int trn_fw_wait_boot(struct trn_device *tdev)
{
	return trn_fw_wait(tdev, TRN_FW_READY, READ_ONCE(fw_timeout_ms));
}

/**
 * trn_fw_wait_ready - wait for the firmware and read what never changes
 * @tdev: device
 *
 * Return: 0, -ETIMEDOUT, or -ENODEV when the device does not answer.
 */
int trn_fw_wait_ready(struct trn_device *tdev)
{
	int ret;

	ret = trn_fw_wait_boot(tdev);
	if (ret)
		return ret;

	tdev->routing_id = trn_fw_read(tdev, TRN_MISC_ROUTING_ID);
	tdev->fw_api_version = trn_fw_read(tdev, TRN_MISC_API_VERSION);
	tdev->fw_build = trn_fw_read(tdev, TRN_MISC_FW_BUILD);
	tdev->serial = trn_fw_read(tdev, TRN_MISC_SERIAL_LO) |
		       (u64)trn_fw_read(tdev, TRN_MISC_SERIAL_HI) << 32;
	return 0;
}

/* One request: 0 when the firmware has carried it out. */
static int trn_fw_reset_once(struct trn_device *tdev, u32 kind, u64 map,
			     unsigned int timeout_ms)
{
	ktime_t end = ktime_add_ms(ktime_get(), timeout_ms);
	unsigned int us = TRN_FW_POLL_MIN_US;
	bool last = false;

	if (kind == TRN_RESET_CORE) {
		trn_fw_write(tdev, TRN_MISC_RESET_MAP_HI, upper_32_bits(map));
		trn_fw_write(tdev, TRN_MISC_RESET_MAP, lower_32_bits(map));
	}
	trn_fw_write(tdev, TRN_MISC_RESET, kind);
	trn_fw_write(tdev, TRN_MISC_DOORBELL, 1);

	for (;;) {
		u32 word = trn_fw_read(tdev, TRN_MISC_RESET);

		if (!word)
			return 0;
		if ((word == ~0u && trn_device_gone(tdev)) || trn_fw_give_up(tdev))
			return -ENODEV;
		if (last) {
			drm_warn(&tdev->drm,
				 "firmware has not taken the reset request after %u ms: register %#x = %#010x\n",
				 timeout_ms, TRN_MISC_RESET, word);
			return -ETIMEDOUT;
		}
		last = ktime_after(ktime_get(), end);
		trn_fw_poll_sleep(&us);
	}
}

/**
 * trn_fw_request_reset - have the firmware reset the device or some cores
 * @tdev: device, under drm_dev_enter()
 * @kind: TRN_RESET_DEVICE or TRN_RESET_CORE
 * @map: for cores: what to reset, from trn_hw.core_map() or engine_bit()
 * @boots: the chip may have been powered on just now
 *
 * Return: 0 when the firmware is ready again; -ETIMEDOUT or -ENODEV.
 */
int trn_fw_request_reset(struct trn_device *tdev, u32 kind, u64 map, bool boots)
{
	unsigned int timeout_ms = READ_ONCE(fw_timeout_ms);
	int ret;

	if (kind == TRN_RESET_CORE)
		timeout_ms /= TRN_FW_CORE_RESET_PART;

	mutex_lock(&tdev->fw_lock);
	/* While it boots, writes would be lost. */
	ret = trn_fw_wait(tdev, TRN_FW_ANSWERS,
			  boots ? timeout_ms : min(timeout_ms, TRN_FW_ALIVE_MS));
	if (ret)
		goto unlock;
	ret = trn_fw_reset_once(tdev, kind, map, timeout_ms / 2);
	/* A request that was not taken is given again, once. */
	if (ret == -ETIMEDOUT)
		ret = trn_fw_reset_once(tdev, kind, map, timeout_ms / 2);
	if (!ret)
		ret = trn_fw_wait(tdev, TRN_FW_READY, timeout_ms);
unlock:
	mutex_unlock(&tdev->fw_lock);
	return ret;
}
