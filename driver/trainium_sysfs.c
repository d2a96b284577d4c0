// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attributes of the PCI device. They show what was read at probe or counted
 * since, so that reading one never touches the hardware.
 */
#include <linux/device.h>
#include <linux/sysfs.h>

#include "trainium_device.h"

static ssize_t generation_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct trn_device *tdev = dev_get_drvdata(dev);

	return sysfs_emit(buf, "%u\n", tdev->hw->generation);
}
static DEVICE_ATTR_RO(generation);

static ssize_t serial_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct trn_device *tdev = dev_get_drvdata(dev);

	return sysfs_emit(buf, "%016llx\n", tdev->serial);
}
static DEVICE_ATTR_RO(serial);

static ssize_t routing_id_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct trn_device *tdev = dev_get_drvdata(dev);

	return sysfs_emit(buf, "%u\n", tdev->routing_id);
}
static DEVICE_ATTR_RO(routing_id);

static ssize_t fw_api_version_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct trn_device *tdev = dev_get_drvdata(dev);

	return sysfs_emit(buf, "%u\n", tdev->fw_api_version);
}
static DEVICE_ATTR_RO(fw_api_version);

static ssize_t fw_build_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct trn_device *tdev = dev_get_drvdata(dev);

	return sysfs_emit(buf, "%u\n", tdev->fw_build);
}
static DEVICE_ATTR_RO(fw_build);

static ssize_t reset_count_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct trn_device *tdev = dev_get_drvdata(dev);

	return sysfs_emit(buf, "%llu\n", (u64)atomic64_read(&tdev->reset_count));
}
static DEVICE_ATTR_RO(reset_count);

static struct attribute *trn_attrs[] = {
	&dev_attr_generation.attr,
	&dev_attr_serial.attr,
	&dev_attr_routing_id.attr,
	&dev_attr_fw_api_version.attr,
	&dev_attr_fw_build.attr,
	&dev_attr_reset_count.attr,
	NULL
};

static const struct attribute_group trn_group = {
	.attrs = trn_attrs,
};

const struct attribute_group *trn_sysfs_groups[] = {
	&trn_group,
	NULL
};
