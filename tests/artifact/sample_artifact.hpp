// An artifact that uses every table and field of the format.
#pragma once

#include "artifact/artifact.hpp"

namespace tenon::tests {

artifact::Artifact sample_artifact();

}  // namespace tenon::tests
