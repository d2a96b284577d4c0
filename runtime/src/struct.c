// SPDX-License-Identifier: MIT
/*
 * Structures that grow: the caller's may be shorter or longer than ours.
 */
#include <errno.h>
#include <string.h>

#include "internal.h"

/*
 * Fills @out, whose first member is its size, from @in of @size bytes. What
 * the library does not know of is zeroed. @min_size: what the first version had.
 */
int nrn_copy_out(void *out, const void *in, uint32_t size, uint32_t min_size, const char *what)
{
	uint32_t room, filled;

	if (!out)
		return nrn_fail(-EINVAL, "struct %s: NULL", what);
	memcpy(&room, out, sizeof(room));
	if (room < min_size || room > 4096)
		return nrn_fail(-EINVAL, "struct %s: member size is %u, should be %u", what, room,
				   size);
	filled = room < size ? room : size;
	memcpy(out, in, filled);
	memset((char *)out + filled, 0, room - filled);
	memcpy(out, &filled, sizeof(filled));
	return 0;
}

/*
 * Takes the caller's options, whose first member is their size. A longer
 * structure of a newer program is fine as long as the part that this library
 * does not know of is zero.
 */
int nrn_take_options(void *out, uint32_t size, const void *options, uint32_t min_size,
		     const char *what)
{
	const unsigned char *bytes = options;
	uint32_t given, i;

	memcpy(&given, options, sizeof(given));
	if (given < min_size || given > 4096)
		return nrn_fail(-EINVAL, "struct %s: member size is %u, should be %u", what, given,
				   size);
	for (i = size; i < given; i++)
		if (bytes[i])
			return nrn_fail(-EINVAL,
					   "struct %s: byte %u is set, which libneuron %s does not know",
					   what, i, neuron_version_string());
	memset(out, 0, size);
	memcpy(out, options, given < size ? given : size);
	return 0;
}

int64_t nrn_deadline_after(int64_t timeout_ns)
{
	int64_t now;

	if (timeout_ns == NEURON_WAIT_FOREVER)
		return NEURON_WAIT_FOREVER;
	now = nrn_backend->now();
	if (timeout_ns <= 0)
		return now;
	return timeout_ns > NEURON_WAIT_FOREVER - now ? NEURON_WAIT_FOREVER : now + timeout_ns;
}
