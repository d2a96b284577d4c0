// SPDX-License-Identifier: MIT
/*
 * Error values as text, and the last sentence of each thread.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "internal.h"

static _Thread_local char last_error[320];

static const struct {
	int error;
	const char *name;
	const char *text;
} errors[] = {
	{ 0, "0", "success" },
	{ EINVAL, "EINVAL", "malformed argument, or a range outside a buffer" },
	{ ENOENT, "ENOENT", "no such device node, handle or fence" },
	{ EACCES, "EACCES", "no permission to open the device" },
	{ EPERM, "EPERM", "the call needs CAP_SYS_ADMIN" },
	{ EFAULT, "EFAULT", "memory not accessible" },
	{ ENOSPC, "ENOSPC", "device memory (HBM) or hardware rings exhausted" },
	{ ENOMEM, "ENOMEM", "host memory exhausted, or RLIMIT_MEMLOCK too low" },
	{ EDQUOT, "EDQUOT", "a limit of the open device reached" },
	{ EIO, "EIO", "the queue's own work failed" },
	{ ECANCELED, "ECANCELED", "work lost to a reset that somebody else caused" },
	{ ETIME, "ETIME", "the time given has passed" },
	{ EBUSY, "EBUSY", "in use" },
	{ EXDEV, "EXDEV", "objects of different devices in one call, or no way between them" },
	{ ENOTCONN, "ENOTCONN", "a group has lost a member" },
	{ EPROTO, "EPROTO", "a rank says what it should not" },
	{ EALREADY, "EALREADY", "already so" },
	{ EAGAIN, "EAGAIN", "not yet" },
	{ EINTR, "EINTR", "a signal came" },
	{ EOPNOTSUPP, "EOPNOTSUPP", "not offered by this device, driver or kernel" },
	{ ENODEV, "ENODEV", "no such device, or it is gone" },
	{ EMFILE, "EMFILE", "too many open files" },
	{ ENFILE, "ENFILE", "too many open files in the system" },
};

#define NUM_ERRORS (sizeof(errors) / sizeof(errors[0]))

static size_t find_error(int error)
{
	size_t i;

	for (i = 0; i < NUM_ERRORS; i++)
		if (errors[i].error == error || errors[i].error == -error)
			break;
	return i;
}

const char *neuron_strerror(int error)
{
	size_t i = find_error(error);

	return i < NUM_ERRORS ? errors[i].text : "unexpected error of the system";
}

const char *neuron_error_name(int error)
{
	size_t i = find_error(error);

	return i < NUM_ERRORS ? errors[i].name : "E?";
}

const char *neuron_last_error(void)
{
	return last_error;
}

int nrn_fail(int error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(last_error, sizeof(last_error), format, args);
	va_end(args);
	return error;
}

void nrn_fail_more(const char *format, ...)
{
	size_t used = strlen(last_error);
	va_list args;

	va_start(args, format);
	vsnprintf(last_error + used, sizeof(last_error) - used, format, args);
	va_end(args);
}
