// recurrent.cpp with products by tiles.
#define TT_TILES
#include "cpu/recurrent/tile_product.h"
//
#include "cpu/recurrent/recurrent.cpp"
