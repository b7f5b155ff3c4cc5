"""The configuration: every variant's file, parameter counts of the paper, and what is refused."""

import pytest

from pic_uie import typed_yaml
from pic_uie.complexity import gflops, parameter_count, predictor_gflops
from pic_uie.config import ModelConfig
from pic_uie.errors import ConfigError
from pic_uie.training.config import Recipe

PARAMETERS = {
    "input-ycbcr": 9_486,
    "input-rgb-ycbcr": 9_918,
    "chroma-curves": 7_276,
    "chroma-affine": 6_834,
    "no-statistics": 9_374,
    "statistics-concatenated": 10_670,
    "lut-5": 7_582,
    "lut-7": 8_398,
    "lut-11": 10_846,
    "direct-rgb": 9_427,
    "direct-ycbcr": 9_427,
    "no-luminance": 9_486 - 2 * 17,
    "no-tone": 9_486 - 544,
    "no-ccm": 9_486 - 204,
    "no-calibration": 9_486 - 170,
    "no-gate": 9_486 - 2,
    **{f"width-{w}": 18 * w**2 + 43 * w + 219 * (w + 1) + 467 for w in (8, 12, 24, 32, 48, 64, 96, 128, 160)},
    **{f"thumbnail-{size}": 9_486 for size in (128, 192, 384)},
    **{f"no-{term}": 9_486 for term in ("depth", "red-l1", "ssim", "ms-ssim", "ssim-ms-ssim")},
    **{f"no-lut-{term}": 9_486 for term in ("smoothness", "monotonicity")},
    "depth-shuffled": 9_486,
    "depth-noise": 9_486,
}


def variant(root, name):
    return typed_yaml.load(Recipe, root / "configs" / "variants" / f"{name}.yaml")


def test_there_is_a_file_for_every_variant_and_no_other(root):
    assert {path.stem for path in (root / "configs" / "variants").glob("*.yaml")} == PARAMETERS.keys()


@pytest.mark.parametrize("name", PARAMETERS)
def test_parameters_of_each_variant(root, name):
    torch = pytest.importorskip("torch")
    from pic_uie.model import PicUie
    from pic_uie.weights.layout import parameter_shapes

    recipe = variant(root, name)
    assert recipe != Recipe()
    assert parameter_count(recipe.model) == PARAMETERS[name]
    model = PicUie(recipe.model)
    assert sum(parameter.numel() for parameter in model.parameters()) == PARAMETERS[name]
    assert {key: tuple(value.shape) for key, value in model.state_dict().items()} == parameter_shapes(recipe.model)
    image = torch.rand(1, 3, 40, 52)
    assert torch.isfinite(model(image)[0]).all()


def test_published_widths():
    assert [parameter_count(ModelConfig(width=w)) for w in (8, 16, 96, 160)] == [3_934, 9_486, 191_726, 503_406]


def test_gflops_of_the_paper():
    model = ModelConfig()
    assert parameter_count(model) == 9_486
    assert gflops(model, 256, 256) == pytest.approx(0.0945, abs=5e-5)  # the paper cuts this to 0.094
    assert round(gflops(model, 1080, 1920), 2) == 1.83
    assert round(gflops(model, 2160, 3840), 2) == 7.20
    measured = [round(predictor_gflops(ModelConfig(thumbnail=size)), 4) for size in (128, 192, 256, 384)]
    assert measured == [0.0095, 0.0213, 0.0379, 0.0852]


def test_paper_recipe_is_the_default(root):
    assert typed_yaml.load(Recipe, root / "configs" / "paper.yaml") == Recipe()


def test_yaml_round_trip():
    recipe = Recipe(model=ModelConfig(width=8, chroma="curves"), seed=5)
    assert typed_yaml.from_mapping(Recipe, typed_yaml.to_mapping(recipe)) == recipe


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"model": {"widht": 16}}, "'model.widht'.*did you mean 'width'"),
        ({"modle": {}}, "did you mean 'model'"),
        ({"model": {"zzz": 1}}, "allowed: calibration"),
        ({"model": {"width": "wide"}}, "model.width must be int, got 'wide'"),
        ({"model": {"width": True}}, "model.width must be int, got True"),
        ({"model": {"width": 0}}, "width must be 1..1024, got 0"),
        ({"model": {"thumbnail": 250}}, "multiple of 8"),
        ({"model": {"lut_grid": 1}}, "lut_grid must be 2..257, got 1"),
        ({"model": {"chroma": "luts"}}, "model.chroma = 'luts': did you mean 'lut'"),
        ({"model": {"tone": 1}}, "model.tone must be bool, got 1"),
        ({"model": 3}, "model must be a mapping"),
        ({"optimization": {"learning_rate": "fast"}}, "must be a number, got 'fast'"),
        ({"optimization": {"ema": 1.0}}, r"ema must be in \[0, 1\), got 1.0"),
        ({"loss": {"red": -1}}, "loss.red must be >= 0"),
        ({"size": 64}, "MS-SSIM"),
    ],
)
def test_impossible_configurations_are_refused(values, message):
    with pytest.raises(ConfigError, match=message):
        typed_yaml.from_mapping(Recipe, values)


@pytest.mark.parametrize(
    ("text", "message"),
    [("a: [", "not valid YAML"), ("- 1", "must hold a mapping"), ("\xff\xfe", "unknown|not valid|mapping")],
)
def test_files_that_are_not_configurations(tmp_path, text, message):
    path = tmp_path / "bad.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=message):
        typed_yaml.load(Recipe, path)
    with pytest.raises(ConfigError, match="cannot read"):
        typed_yaml.load(Recipe, tmp_path / "absent.yaml")


def test_overrides_win_over_the_file(root):
    path = root / "configs" / "variants" / "lut-5.yaml"
    recipe = typed_yaml.load(Recipe, path, ["model.width=8", "optimization.learning_rate=1e-3", "seed=3"])
    assert (recipe.model.lut_grid, recipe.model.width, recipe.seed) == (5, 8, 3)
    assert recipe.optimization.learning_rate == 1e-3
    for bad in ("seed", "=3", "seed.x=1"):
        with pytest.raises(ConfigError):
            typed_yaml.load(Recipe, path, ["seed=1", bad])
