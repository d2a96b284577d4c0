/* SPDX-License-Identifier: MIT */
/*
 * Parts of neuron-trace: records.c takes events of the driver from the kernel, as
 * lines of text; timeline.c reads lines and writes the timeline.
 */
#ifndef TRACE_H
#define TRACE_H

#include <stdbool.h>
#include <stdio.h>

/* The longest line; what is beyond is cut. */
#define TRACE_LINE 512

/**
 * struct record_options - what to record
 */
struct record_options {
	/** @command: to run, NULL at the end; or NULL: until a signal or @seconds */
	char *const *command;
	/** @seconds: at most; 0: no limit */
	double seconds;
	/** @buffer_kb: of each CPU */
	unsigned int buffer_kb;
};

struct timeline;

/* Ends the program with a sentence when the kernel or the user cannot trace. */
void record_check(void);
/*
 * Records, and gives each event to @line, in the order of time:
 * "COMMAND-PID [CPU] SECONDS.NANOSECONDS: EVENT: FIELDS". Returns the exit status of
 * the command, or 0. Ends the program when it cannot record.
 */
int record(const struct record_options *options, void (*line)(void *context, const char *text),
	   void *context);

/* The timeline goes to @out, as JSON; one event a line. */
struct timeline *timeline_new(FILE *out);
/*
 * A line of the driver's trace, also as trace-cmd report, the kernel and perf script
 * write it, or of the model's. Others are ignored.
 */
void timeline_line(struct timeline *timeline, const char *text);
/* Writes the end; returns the number of events that were understood, and frees it. */
unsigned long timeline_end(struct timeline *timeline);

#endif
