package replay

// StageOf is the stage for another list of policies than policy.All.
var StageOf = stageOf
