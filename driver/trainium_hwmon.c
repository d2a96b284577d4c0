// SPDX-License-Identifier: GPL-2.0-only
/*
 * hwmon: power, energy and temperatures, where the firmware has such sensors.
 * Units are hwmon's: microwatts, microjoules, thousandths of a degree Celsius.
 */
#include <linux/hwmon.h>

#include <drm/drm_print.h>

#include "regs/ext.h"
#include "trainium_device.h"

#define TRN_TEMP_ATTRS \
	(HWMON_T_INPUT | HWMON_T_LABEL | HWMON_T_MAX | HWMON_T_CRIT | \
	 HWMON_T_MAX_ALARM | HWMON_T_CRIT_ALARM)

static const struct hwmon_channel_info * const trn_hwmon_info[] = {
	HWMON_CHANNEL_INFO(power, HWMON_P_INPUT | HWMON_P_LABEL | HWMON_P_RATED_MAX |
				  HWMON_P_ALARM),
	HWMON_CHANNEL_INFO(energy, HWMON_E_INPUT | HWMON_E_LABEL),
	HWMON_CHANNEL_INFO(temp, TRN_TEMP_ATTRS, TRN_TEMP_ATTRS, TRN_TEMP_ATTRS,
			   TRN_TEMP_ATTRS, TRN_TEMP_ATTRS, TRN_TEMP_ATTRS,
			   TRN_TEMP_ATTRS, TRN_TEMP_ATTRS, TRN_TEMP_ATTRS,
			   TRN_TEMP_ATTRS, TRN_TEMP_ATTRS, TRN_TEMP_ATTRS),
	NULL
};

static const char * const trn_temp_labels[TRN_MAX_DIES + TRN_MAX_STACKS] = {
	"die0", "die1", "die2", "die3",
	"hbm0", "hbm1", "hbm2", "hbm3", "hbm4", "hbm5", "hbm6", "hbm7",
};

/* What belongs to a channel in the query: the dies first, then the stacks. */
static const char *trn_temp_label(const struct trn_device *tdev, unsigned int channel)
{
	if (channel < tdev->hw->num_dies)
		return trn_temp_labels[channel];
	return trn_temp_labels[TRN_MAX_DIES + channel - tdev->hw->num_dies];
}

static umode_t trn_hwmon_visible(const void *data, enum hwmon_sensor_types type, u32 attr,
				 int channel)
{
	const struct trn_device *tdev = data;

	if (type == hwmon_temp && channel >= tdev->hw->num_dies + tdev->hw->num_stacks)
		return 0;
	return 0444;
}

static int trn_hwmon_temp(const struct drm_trainium_query_telemetry *t, u32 attr, int channel,
			  long *value)
{
	s32 now = t->temperature[channel];

	switch (attr) {
	case hwmon_temp_max:
		*value = t->temperature_max;
		return 0;
	case hwmon_temp_crit:
		*value = t->temperature_crit;
		return 0;
	}
	if ((u32)now == TRN_EXT_SENSOR_NONE)
		return -ENODATA;
	switch (attr) {
	case hwmon_temp_input:
		*value = now;
		return 0;
	case hwmon_temp_max_alarm:
		*value = now >= t->temperature_max;
		return 0;
	case hwmon_temp_crit_alarm:
		*value = now >= t->temperature_crit;
		return 0;
	}
	return -EOPNOTSUPP;
}

static int trn_hwmon_power(const struct drm_trainium_query_telemetry *t, u32 attr, long *value)
{
	switch (attr) {
	case hwmon_power_input:
		*value = t->power_uw;
		return 0;
	case hwmon_power_rated_max:
		*value = t->power_max_uw;
		return 0;
	case hwmon_power_alarm:
		*value = t->throttle != 0;
		return 0;
	}
	return -EOPNOTSUPP;
}

static int trn_hwmon_read(struct device *dev, enum hwmon_sensor_types type, u32 attr, int channel,
			  long *value)
{
	struct drm_trainium_query_telemetry t;
	int ret;

	ret = trn_telemetry_read(dev_get_drvdata(dev), &t);
	if (ret)
		return ret == -ETIME ? -ENODATA : ret;
	if (!(t.valid & TRAINIUM_TELEMETRY_SENSORS))
		return -ENODATA;

	switch (type) {
	case hwmon_power:
		return trn_hwmon_power(&t, attr, value);
	case hwmon_energy:
		*value = t.energy_uj;
		return 0;
	case hwmon_temp:
		return trn_hwmon_temp(&t, attr, channel, value);
	default:
		return -EOPNOTSUPP;
	}
}

static int trn_hwmon_read_string(struct device *dev, enum hwmon_sensor_types type, u32 attr,
				 int channel, const char **str)
{
	const struct trn_device *tdev = dev_get_drvdata(dev);

	*str = type == hwmon_temp ? trn_temp_label(tdev, channel) : "chip";
	return 0;
}

static const struct hwmon_ops trn_hwmon_ops = {
	.is_visible = trn_hwmon_visible,
	.read = trn_hwmon_read,
	.read_string = trn_hwmon_read_string,
};

static const struct hwmon_chip_info trn_hwmon_chip = {
	.ops = &trn_hwmon_ops,
	.info = trn_hwmon_info,
};

/**
 * trn_hwmon_init - register the sensors, if there are any
 * @tdev: device that is registered
 *
 * A device without sensors works as well as with them.
 */
void trn_hwmon_init(struct trn_device *tdev)
{
	struct device *hwmon;

	if (!tdev->ext || !(tdev->ext_features & TRN_EXT_FEAT_SENSORS))
		return;
	hwmon = devm_hwmon_device_register_with_info(tdev->drm.dev, "trainium", tdev,
						     &trn_hwmon_chip, NULL);
	if (IS_ERR(hwmon))
		drm_warn(&tdev->drm, "no hwmon (error %ld)\n", PTR_ERR(hwmon));
}
