/* SPDX-License-Identifier: GPL-2.0-only */
/* Ports and paths of the fabric, for several tests */
#ifndef TRAINIUM_FABRIC_UTIL_H
#define TRAINIUM_FABRIC_UTIL_H

#include "trainium_util.h"

static inline int trn_fabric(int fd, struct drm_trainium_query_fabric *f)
{
	return trn_query(fd, TRAINIUM_QUERY_FABRIC, 0, f, sizeof(*f));
}

/* The first port that carries traffic */
static inline __u32 trn_port_up(const struct drm_trainium_query_fabric *f)
{
	return f->ports_up ? __builtin_ctzll(f->ports_up) : 0;
}

static inline int trn_port(int fd, __u32 number, struct drm_trainium_fabric_port *port)
{
	*port = (struct drm_trainium_fabric_port){ .port = number };
	return trn_ioctl(fd, DRM_IOCTL_TRAINIUM_FABRIC_PORT, port);
}

static inline int trn_port_ctl(int fd, __u32 port, __u32 op, __u64 value, __u32 flags)
{
	struct drm_trainium_fabric_ctl ctl = {
		.op = op, .port = port, .value = value, .flags = flags,
	};

	return trn_ioctl(fd, DRM_IOCTL_TRAINIUM_FABRIC_CTL, &ctl);
}

/* Waits for the port to come to rest. */
static inline int trn_port_settle(int fd, __u32 port, __u32 op, __u64 value, __u32 *state)
{
	struct drm_trainium_fabric_ctl ctl = {
		.op = op, .port = port, .value = value,
		.deadline_ns = trn_now() + TRN_PATIENCE,
	};
	int ret = trn_ioctl(fd, DRM_IOCTL_TRAINIUM_FABRIC_CTL, &ctl);

	*state = ctl.state;
	return ret;
}

static inline int trn_port_threshold(int fd, __u32 port, __u32 counter, __u64 value)
{
	struct drm_trainium_fabric_ctl ctl = {
		.op = TRAINIUM_FABRIC_THRESHOLD, .port = port, .counter = counter, .value = value,
	};

	return trn_ioctl(fd, DRM_IOCTL_TRAINIUM_FABRIC_CTL, &ctl);
}

/* A counter over all ports of a chip */
static inline int trn_ports_sum(int fd, const struct drm_trainium_query_fabric *f, __u32 counter,
				__u64 *sum)
{
	struct drm_trainium_fabric_port port;
	__u32 p;
	int ret;

	*sum = 0;
	for (p = 0; p < f->num_ports; p++) {
		ret = trn_port(fd, p, &port);
		if (ret)
			return ret;
		*sum += port.counters[counter];
	}
	return 0;
}

#endif
