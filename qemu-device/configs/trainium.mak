# SPDX-License-Identifier: GPL-2.0-or-later
#
# The devices of our QEMU: a q35 machine, PCIe topology, serial and virtio.
# Everything not selected here (or needed by these) is left out of the build.

CONFIG_TRAINIUM=y

CONFIG_Q35=y
CONFIG_HPET=y
CONFIG_VTD=y
CONFIG_SERIAL_ISA=y
CONFIG_ISA_DEBUG=y
CONFIG_PVPANIC_PCI=y

CONFIG_PCIE_PORT=y
CONFIG_XIO3130=y

CONFIG_VIRTIO_PCI=y
CONFIG_VIRTIO_SERIAL=y
CONFIG_VIRTIO_BLK=y
CONFIG_VIRTIO_9P=y
CONFIG_VIRTIO_RNG=y
