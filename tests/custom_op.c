/* A library with one custom operator, orch.test:Twice: y = 2x for four floats. No header of onnxruntime is needed: its
 * table of functions is append-only (onnxruntime_c_api.h, positions as in every release since 1.8), and an operator of
 * API version 8 is the first twelve members of OrtCustomOp. */
#include <stddef.h>
#include <stdint.h>

typedef struct {
  const void* const* (*GetApi)(uint32_t version);
  const char* (*GetVersionString)(void);
} ApiBase;

typedef struct CustomOp CustomOp;
struct CustomOp {
  uint32_t version;
  void* (*CreateKernel)(const CustomOp*, const void* api, const void* info);
  const char* (*GetName)(const CustomOp*);
  const char* (*GetExecutionProviderType)(const CustomOp*);
  int (*GetInputType)(const CustomOp*, size_t);
  size_t (*GetInputTypeCount)(const CustomOp*);
  int (*GetOutputType)(const CustomOp*, size_t);
  size_t (*GetOutputTypeCount)(const CustomOp*);
  void (*KernelCompute)(void* kernel, void* context);
  void (*KernelDestroy)(void* kernel);
  int (*GetInputCharacteristic)(const CustomOp*, size_t);
  int (*GetOutputCharacteristic)(const CustomOp*, size_t);
};

enum { CREATE_DOMAIN = 26, DOMAIN_ADD = 27, ADD_DOMAIN = 28, TENSOR_DATA = 51, GET_INPUT = 90, GET_OUTPUT = 91 };
enum { API_VERSION = 8, FLOAT = 1, COUNT = 4 };

static const void* const* api;

static void* create(const CustomOp* op, const void* given, const void* info) { return (void*)op; }
static const char* name(const CustomOp* op) { return "Twice"; }
static const char* provider(const CustomOp* op) { return NULL; }
static int type(const CustomOp* op, size_t at) { return FLOAT; }
static size_t one(const CustomOp* op) { return 1; }
static int required(const CustomOp* op, size_t at) { return 0; }
static void destroy(void* kernel) {}

static void compute(void* kernel, void* context) {
  static const int64_t shape[1] = {COUNT};
  const void* input = NULL;
  void* output = NULL;
  float *from = NULL, *to = NULL;
  ((void* (*)(const void*, size_t, const void**))api[GET_INPUT])(context, 0, &input);
  ((void* (*)(void*, size_t, const int64_t*, size_t, void**))api[GET_OUTPUT])(context, 0, shape, 1, &output);
  ((void* (*)(const void*, void**))api[TENSOR_DATA])(input, (void**)&from);
  ((void* (*)(void*, void**))api[TENSOR_DATA])(output, (void**)&to);
  for (int at = 0; at < COUNT; at++) to[at] = 2 * from[at];
}

static const CustomOp twice = {API_VERSION, create, name, provider, type, one, type, one,
                               compute, destroy, required, required};

void* RegisterCustomOps(void* options, const ApiBase* base) {
  void* domain = NULL;
  api = base->GetApi(API_VERSION);
  ((void* (*)(const char*, void**))api[CREATE_DOMAIN])("orch.test", &domain);
  ((void* (*)(void*, const CustomOp*))api[DOMAIN_ADD])(domain, &twice);
  return ((void* (*)(void*, void*))api[ADD_DOMAIN])(options, domain);
}
