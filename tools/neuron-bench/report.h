/* SPDX-License-Identifier: MIT */
/*
 * How neuron-bench prints: each result is a JSON object, of which columns are
 * shown as a table or as CSV, or which is printed as it is; and a plot of those
 * that have "size", "time_us" with "_low" and "_high", and a bandwidth.
 */
#ifndef REPORT_H
#define REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include <json-c/json.h>

enum report_format { REPORT_TABLE, REPORT_JSON, REPORT_CSV };

/**
 * struct report_column - a column of the table, and a field of the CSV
 */
struct report_column {
	/** @key: of the object; NULL ends the list */
	const char *key;
	/** @heading: of the table; the CSV has the keys */
	const char *heading;
	/** @width: of the table; below 0: flush left */
	int width;
	/** @decimals: below 0: 7 significant digits */
	int decimals;
};

/**
 * struct report - where results go
 */
struct report {
	enum report_format format;
	const struct report_column *columns;
	/** @plot: file for report_plot(), or NULL */
	const char *plot;
	/** @title: of the plot */
	const char *title;
	/** @series: key of what a curve of the plot is */
	const char *series;
	/** @rate: key of the bandwidth, in 10^9 bytes a second */
	const char *rate;
	/* private: */
	struct json_object *rows;
};

/**
 * struct spread - samples of one figure
 */
struct spread {
	double median;
	/** @low: a tenth of the samples is not above it */
	double low;
	/** @high: a tenth of the samples is not below it */
	double high;
	unsigned int samples;
};

/* Sorts @ns; what is in @spread is in the unit of the samples. */
void spread_of(struct spread *spread, int64_t *ns, unsigned int count);
/* What @amount in the time of the samples is a unit of time. */
void spread_invert(struct spread *spread, double amount);
void spread_scale(struct spread *spread, double factor);

/* What getopt_long() returns for --csv and --plot; --json is 'j'. */
enum { REPORT_OPT_CSV = 512, REPORT_OPT_PLOT };

/* Takes one of these, with optarg; false: @c is none of them. */
bool report_option(struct report *report, int c);

/* A number with 7 significant digits. */
void report_number(struct json_object *row, const char *key, double value);
/* Prints @row and keeps it for the plot; takes the reference. */
void report_row(struct report *report, struct json_object *row);
/* Writes the plot, if there is to be one; ends the program when it cannot. */
void report_end(struct report *report);

#endif
