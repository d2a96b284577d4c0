#include "trace/trace-hw_trainium.h"
