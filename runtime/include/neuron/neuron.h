/* SPDX-License-Identifier: MIT */
/*
 * libneuron: AWS Trainium devices for C programs, on the accel driver
 * "trainium". This header includes all others.
 *
 * Conventions that hold for every function:
 *
 *  - A function that can fail returns 0 or a negative errno value (some
 *    return a count >= 0). neuron_last_error() then has a sentence about it.
 *  - Objects come through the last parameter, which is left alone on error.
 *  - Sizes and offsets are bytes, times are nanoseconds.
 *  - Structures that the library fills start with a member @size that the
 *    caller sets to sizeof. They only ever grow at their end, so programs and
 *    library may be of different age.
 *  - Any function may be called from any thread at any time, unless its
 *    description says otherwise. The exception common to all objects: an
 *    object must not be used by one thread while or after another one
 *    destroys it.
 *  - Objects hold what they need: a device whose buffers or queues are still
 *    there stays open inside the library after neuron_device_close().
 *  - After fork() the child must not use objects of the parent; it opens the
 *    device anew. Buffers are shared with other processes by
 *    neuron_buffer_export() and neuron_buffer_import().
 *  - The library starts no thread, installs no signal handler, prints nothing
 *    and never ends the process. A signal does not end a wait.
 */
#ifndef NEURON_NEURON_H
#define NEURON_NEURON_H

#include <neuron/version.h>
#include <neuron/error.h>
#include <neuron/device.h>
#include <neuron/buffer.h>
#include <neuron/comm.h>
#include <neuron/fabric.h>
#include <neuron/fence.h>
#include <neuron/monitor.h>
#include <neuron/queue.h>
#include <neuron/list.h>

#endif
